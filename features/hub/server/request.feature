@role:hub.server
Feature: What stands in an execute request
  A request names the tool, the agent, the customer whose credentials are used, perhaps an end user, the tool's
  inputs, and perhaps a context.

  @HUB-25 @cap:customer.connected
  Rule: A request with all documented members is accepted for every tool

    Scenario Outline: <tool>
      Given a Hub
      And a full request for <tool>
      When the agent sends the request
      Then the Hub executes it

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | calendar_create_event       |
        | calendar_update_event       |
        | calendar_delete_event       |
        | calendar_find_optimal_times |
        | email_send                  |
        | email_search                |
        | email_read                  |
        | email_check_replies         |

    Scenario Outline: <tool> with <value> as its <input>
      Given a Hub
      And a full request for <tool>
      And its "inputs.<input>" is <value>
      When the agent sends the request
      Then the Hub executes it

      Examples:
        | tool                  | input       | value                                      |
        | calendar_create_event | description | "A <b>&amp; 'C' 100 %\\nsecond – 雨 👩‍🚀"   |
        | calendar_create_event | location    | "Großer Saal, 3. OG – 雨"                  |
        | email_send            | body        | "First\\n.\\nFrom here on: 100 % – 雨 👩‍🚀" |

      # By these people find what the suite left, so in an environment of others they begin as the manifest says.
      @cap:provider
      Examples: by which a calendar and a mailbox list it
        | tool                  | input   | value         |
        | calendar_create_event | title   | "Žatva – 雨 👩‍🚀" |
        | email_send            | subject | "Žatva – 雨 👩‍🚀" |

  @HUB-26 @cap:customer.connected
  Rule: The end user is a string or null

    Scenario Outline: user_id is <user>
      Given a Hub
      And a full request for calendar_get_availability
      And its "user_id" is <user>
      When the agent sends the request
      Then the Hub executes it

      Examples:
        | user   |
        | "u-17" |
        | null   |
        | "Ana.Orchid+1@orchid.example" |
        | "Žofia 雨 / 4711" |

    Scenario Outline: <tool> for nobody
      Given a Hub
      And a full request for <tool>
      And its "user_id" is null
      When the agent sends the request
      Then the Hub executes it

      Examples:
        | tool                        |
        | calendar_create_event       |
        | calendar_update_event       |
        | calendar_delete_event       |
        | calendar_find_optimal_times |
        | email_send                  |
        | email_search                |
        | email_read                  |
        | email_check_replies         |

  @HUB-27 @cap:customer.connected
  Rule: The context is optional

    Scenario: There is no context
      Given a Hub
      And a full request for calendar_get_availability
      And it has no "context"
      When the agent sends the request
      Then the Hub executes it

    Scenario: There is a context with both ids
      Given a Hub
      And a full request for calendar_get_availability
      And its "context" is {"conversation_id": "conv-1", "request_id": "req-0042"}
      When the agent sends the request
      Then the Hub executes it

    Scenario Outline: The context is <context>
      Given a Hub
      And a full request for email_search
      And its "context" is <context>
      When the agent sends the request
      Then the Hub executes it

      Examples:
        | context                       |
        | {"conversation_id": "conv-1"} |
        | {"request_id": "req-0042"}    |
        | {}                            |

    Scenario Outline: There is no context for <tool>
      Given a Hub
      And a full request for <tool>
      And it has no "context"
      When the agent sends the request
      Then the Hub executes it

      Examples:
        | tool                        |
        | calendar_create_event       |
        | calendar_update_event       |
        | calendar_delete_event       |
        | calendar_find_optimal_times |
        | email_send                  |
        | email_search                |
        | email_read                  |
        | email_check_replies         |

  @HUB-28
  Rule: Without tool, customer or inputs nothing is executed

    Scenario Outline: There is no <member>
      Given a Hub
      And a full request for calendar_get_availability
      And it has no "<member>"
      When the agent sends the bad request
      Then the request does not succeed

      Examples:
        | member      |
        | tool        |
        | customer_id |
        | inputs      |

    Scenario Outline: There is no <member> for <tool>
      Given a Hub
      And a full request for <tool>
      And it has no "<member>"
      When the agent sends the bad request
      Then the request does not succeed

      Examples:
        | tool                        | member      |
        | calendar_create_event       | customer_id |
        | calendar_find_optimal_times | customer_id |
        | email_send                  | customer_id |
        | email_search                | customer_id |
        | calendar_create_event       | inputs      |
        | calendar_find_optimal_times | inputs      |
        | email_send                  | inputs      |
        | email_search                | inputs      |

      @cap:customer.connected
      Examples: about what is there
        | tool                  | member      |
        | calendar_update_event | customer_id |
        | calendar_delete_event | customer_id |
        | email_read            | customer_id |
        | email_check_replies   | customer_id |
        | calendar_update_event | inputs      |
        | calendar_delete_event | inputs      |
        | email_read            | inputs      |
        | email_check_replies   | inputs      |

  @HUB-29
  Rule: Members have their types

    Scenario: There is no agent_id
      Given a Hub
      And a full request for calendar_get_availability
      And it has no "agent_id"
      When the agent sends the bad request
      Then the request does not succeed

    Scenario Outline: <member> is <value>
      Given a Hub
      And a full request for calendar_get_availability
      And its "<member>" is <value>
      When the agent sends the bad request
      Then the request does not succeed

      Examples:
        | member      | value |
        | agent_id    | "x"   |
        | customer_id | 17    |
        | inputs      | []    |
        | agent_id    | ""    |
        | agent_id    | 17    |
        | customer_id | "x"   |
        | customer_id | false |
        | inputs      | "x"   |
        | inputs      | 0     |
        | customer_id | null  |
        | customer_id | ""    |
        | customer_id | []    |
        | agent_id    | null  |
        | agent_id    | []    |
        | agent_id    | "6e9f2c1a-0b7d-4d0e-8f55-1c2d3e4f5a60x" |
        | agent_id    | "6e9f2c1a-0b7d-4d0e-8f55-1c2d3e4f5a6g" |
        | inputs      | null  |
        | inputs      | false |

  @HUB-30 @cap:customer.connected @cap:customer.not_connected @cap:data
  Rule: The customer chooses the credentials

    Scenario Outline: <tool> for two customers
      Given a Hub
      And a full request for <tool>
      When the agent sends the request for its customer and for not_connected
      Then the customer is served, and the other one gets INTEGRATION_NOT_CONNECTED

      Examples:
        | tool                      |
        | calendar_get_availability |
        | email_search              |

    Scenario Outline: <tool> for a customer, another one, and the first again
      Given a Hub
      And a full request for <tool>
      When the agent sends the request for its customer and for not_connected, and again for the first
      Then the customer is served, and the other one gets INTEGRATION_NOT_CONNECTED

      Examples:
        | tool                      |
        | calendar_get_availability |
        | email_search              |

    Scenario Outline: <tool> of what the customer has, for somebody who has connected nothing
      Given a Hub
      And a full request for <tool>
      When the agent sends the request
      Then the Hub answers with a result
      When the agent sends the request for its customer and for not_connected
      Then the request does not succeed at all

      Examples:
        | tool                  |
        | calendar_update_event |
        | email_read            |
        | email_check_replies   |

    @cap:provider @cap:customer.other
    Scenario Outline: <tool> of what the customer has, for another customer
      Given a Hub
      And a full request for <tool>
      When the agent sends the request
      Then the Hub answers with a result
      When the agent sends the request for its customer and for other
      Then the request does not succeed at all

      Examples:
        | tool                  |
        | calendar_update_event |
        | email_read            |

    # An agent may give all requests of one turn the same id.
    Scenario: A request of another customer under the same request id
      Given a Hub
      And a full request for calendar_get_availability
      And its "context.request_id" is "req-0107"
      When the agent sends the request
      Then the Hub answers with a result
      Given a Hub and its customer not_connected
      And a full request for calendar_get_availability
      And its "context.request_id" is "req-0107"
      When the agent sends the request
      Then the answer is the error INTEGRATION_NOT_CONNECTED

    Scenario: A customer that nobody knows is not served
      Given a Hub
      And a full request for calendar_get_availability
      And its "customer_id" is "5e0d7c1a-93b4-4c58-8f5e-2a6b1d9047c3"
      When the agent sends the bad request
      Then the request does not succeed at all

    Scenario Outline: <tool> for a customer that nobody knows
      Given a Hub
      And a full request for <tool>
      And its "customer_id" is "5e0d7c1a-93b4-4c58-8f5e-2a6b1d9047c3"
      When the agent sends the bad request
      Then the request does not succeed at all

      Examples:
        | tool                        |
        | calendar_create_event       |
        | calendar_update_event       |
        | calendar_delete_event       |
        | calendar_find_optimal_times |
        | email_send                  |
        | email_search                |
        | email_read                  |
        | email_check_replies         |

    @cap:provider @cap:customer.other
    Scenario: Each customer has a mailbox of its own
      Given a Hub
      And a full request for email_search
      When the agent sends the request for its customer and for other
      Then the customers have no message in common

    @cap:provider @cap:customer.other
    Scenario: What a second customer makes is that customer's
      Given a Hub and its customer other
      And a full request for calendar_update_event
      When the agent sends the request
      Then the Hub executes it

    @cap:provider @cap:customer.other
    Scenario Outline: <tool> for a second customer reaches that customer's account
      Given a Hub and its customer other
      And a full request for <tool>
      When the agent sends the request
      Then it reaches the customer's own account

      Examples:
        | tool                  |
        | calendar_create_event |
        | calendar_update_event |
        | calendar_delete_event |
        | email_send            |

    @cap:provider @cap:customer.other
    Scenario: Each customer has busy times of its own
      Given a Hub
      And an event on "2032-08-31"
      And a full request for calendar_get_availability
      And it asks about the days around the event
      When the agent sends the request for its customer and for other
      Then only the first customer has the event

    @cap:provider @cap:customer.other
    Scenario: Each customer has threads of its own
      Given a Hub
      And a full request for email_check_replies
      And its "inputs.thread_id" is the mailbox's thread
      When the agent sends the request for its customer and for other
      Then the other customer sees none of the replies

  @HUB-118 @cap:customer.connected
  Rule: A Hub may answer with stub data

    Scenario: Whether it does is noted
      Given a Hub
      And a full request for calendar_get_availability
      When the agent sends the request
      Then whether the Hub is a stub is noted
