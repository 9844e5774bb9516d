@role:hub.server
Feature: The Hub is reached at one path, with a service secret
  An agent posts every call of a calendar or mail tool to the same path and proves with a shared secret that it
  may. What comes without the right secret, or is no request, is refused before anything is executed.

  Rule: Every tool of the contract is there

    @HUB-05 @cap:customer.connected
    Scenario Outline: The Hub knows <tool>
      Given a Hub
      And a full request for <tool>
      When the agent sends the request
      Then the answer is not TOOL_NOT_FOUND

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

  @HUB-06
  Rule: The path is served as it is written, with its final slash

    Scenario: It is neither missing nor elsewhere
      Given a Hub
      And a full request for calendar_get_availability
      When the agent sends the request
      Then the answer shows that the path is served

    @cap:customer.connected
    Scenario: A request there is executed
      Given a Hub
      And a full request for calendar_get_availability
      When the agent sends the request
      Then the Hub executes it

  @HUB-08
  Rule: The scheme is ServiceSecret

    Scenario: The right secret is taken
      Given a Hub
      And a full request for email_search
      When the agent sends the request
      Then the answer takes the secret

  Rule: Without the right secret nothing is executed

    @HUB-10
    Scenario Outline: There is no secret for <tool>
      Given a Hub
      And a full request for <tool>
      When the agent sends the request without a secret
      Then the request is refused for its secret

      Examples:
        | tool                        |
        | calendar_create_event       |
        | email_send                  |
        | email_search                |
        | calendar_get_availability   |
        | calendar_find_optimal_times |

      @cap:customer.connected
      Examples: about what is there
        | tool                  |
        | calendar_update_event |
        | calendar_delete_event |
        | email_read            |
        | email_check_replies   |

    @HUB-10 @cap:provider @cap:customer.connected
    Scenario Outline: Nothing of <tool> without a secret reaches the provider
      Given a Hub
      And a full request for <tool>
      When the agent sends the request without a secret
      Then the request does not succeed at all
      And nothing arrives at the provider

      Examples:
        | tool                  |
        | calendar_create_event |
        | email_send            |

    @HUB-11
    Scenario Outline: <tool> comes <secret>
      Given a Hub
      And a full request for <tool>
      When the agent sends the request <secret>
      Then the request is refused for its secret

      Examples:
        | tool                  | secret                      |
        | calendar_create_event | with another secret         |
        | calendar_create_event | with one character more     |
        | calendar_create_event | with one character less     |
        | calendar_create_event | with another last character |
        | calendar_create_event | with an empty secret        |
        | email_send            | with another secret         |
        | email_search          | with an empty secret        |
        | calendar_create_event | with one character in front |
        | calendar_create_event | in the other case           |
        | calendar_create_event | with the word null          |
        | calendar_create_event | with the word undefined     |

    @HUB-11 @cap:provider @cap:customer.connected
    Scenario Outline: Nothing of <tool> with another secret reaches the provider
      Given a Hub
      And a full request for <tool>
      When the agent sends the request with another secret
      Then the request does not succeed at all
      And nothing arrives at the provider

      Examples:
        | tool                  |
        | calendar_create_event |
        | email_send            |

    @HUB-12
    Scenario Outline: The refusal of a request <secret> is about the secret
      Given a Hub
      And a full request for calendar_get_availability
      When the agent sends the request <secret>
      Then the refusal cannot be taken for an expired integration

      Examples:
        | secret              |
        | without a secret    |
        | with another secret |

    Scenario Outline: A request <secret> follows a good one on its connection
      Given a Hub
      And a full request for <tool>
      When the agent sends the request <secret>, on the connection of one with the right secret
      Then the request is refused for its secret

      Examples:
        | rule   | tool                      | secret              |
        | HUB-10 | calendar_get_availability | without a secret    |
        | HUB-11 | calendar_get_availability | with another secret |

  @HUB-14
  Rule: Successes and the six errors are JSON documents

    @cap:customer.connected
    Scenario Outline: A success of <tool> is JSON
      Given a Hub
      And a full request for <tool>
      When the agent sends the request
      Then the Hub answers with a result
      And the answer is JSON

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | calendar_find_optimal_times |
        | email_search                |

    Scenario Outline: The error <code> is JSON
      Given a request that fails with <code>
      When the agent sends the request
      Then the Hub answers with an error
      And the answer is JSON

      Examples:
        | code           |
        | TOOL_NOT_FOUND |

      @cap:customer.not_connected
      Examples: no integration
        | code                      |
        | INTEGRATION_NOT_CONNECTED |

      @cap:customer.expired
      Examples: a token that is over
        | code                |
        | INTEGRATION_EXPIRED |

      @cap:customer.read_only
      Examples: too few scopes
        | code                          |
        | INTEGRATION_PERMISSION_DENIED |

      @cap:limit
      Examples: a limit
        | code         |
        | RATE_LIMITED |

      @cap:upstream @last
      Examples: a provider that fails
        | code               |
        | EXTERNAL_API_ERROR |

  @HUB-15
  Rule: Another method executes nothing

    Scenario Outline: <method>
      Given a Hub
      And a full request for calendar_get_availability
      When the agent sends the request as <method>
      Then the request is not answered 2xx

      Examples:
        | method |
        | GET    |
        | PUT    |
        | PATCH  |
        | DELETE |

  @HUB-16
  Rule: A body that is no JSON is refused

    Scenario: The body is cut off
      Given a Hub
      And a full request for calendar_get_availability
      When the agent sends a body that is cut off
      Then the request is refused

    Scenario: Something stands behind the body
      Given a Hub
      And a full request for calendar_get_availability
      When the agent sends the request with something behind it
      Then the request is refused

    Scenario: There is no body
      Given a Hub
      And a full request for calendar_get_availability
      When the agent sends an empty body
      Then the request is refused
