@role:hub.server
Feature: The success envelope
  A tool that did its work answers with `success`, the tool's name, the result, and what the work cost.

  @HUB-31 @cap:customer.connected
  Rule: A success is HTTP 2xx

    Scenario Outline: The status of <tool>
      Given a Hub
      And a full request for <tool>
      When the agent sends the request
      Then the answer is a success over HTTP

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

  @HUB-32 @cap:customer.connected
  Rule: success is true

    Scenario Outline: <tool> says so
      Given a Hub
      And a full request for <tool>
      When the agent sends the request
      Then the Hub answers with a result
      And "success" is true

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

  @HUB-33 @cap:customer.connected
  Rule: tool repeats the tool that was asked for

    Scenario Outline: <tool> is named
      Given a Hub
      And a full request for <tool>
      When the agent sends the request
      Then the Hub answers with a result
      And the answer repeats the tool

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

  @HUB-34 @cap:customer.connected
  Rule: result is an object

    Scenario Outline: The result of <tool>
      Given a Hub
      And a full request for <tool>
      When the agent sends the request
      Then the Hub answers with a result
      And "result" is an object

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

  @HUB-35 @cap:customer.connected
  Rule: The time that it took is a number of milliseconds

    Scenario Outline: The time of <tool>
      Given a Hub
      And a full request for <tool>
      When the agent sends the request
      Then the Hub answers with a result
      And "metadata.execution_time_ms" is a number of 0 or more

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

  @HUB-36 @cap:customer.connected
  Rule: The calls of the external service are counted

    Scenario Outline: The calls of <tool>
      Given a Hub
      And a full request for <tool>
      When the agent sends the request
      Then the Hub answers with a result
      And "metadata.api_calls" is an integer of 0 or more

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

  @HUB-37 @cap:customer.connected
  Rule: A success has no error

    Scenario Outline: <tool> has none
      Given a Hub
      And a full request for <tool>
      When the agent sends the request
      Then the Hub answers with a result
      And "error" is absent

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
