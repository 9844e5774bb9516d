@role:hub.agent
Feature: A failure of the Hub is a failed call
  An agent that receives a failure reports it, in words of its own, and goes on. Only its meaning is looked at:
  the code, the message or the link. What may end an agent comes last.

  @HUB-57
  Rule: Each of the six errors is a failed call

    Scenario Outline: <code> is reported as a failure
      Given an agent
      And a call of any Hub tool
      And the Hub answers it with <code>
      When the agent makes the call
      Then the call fails
      And the failure reports <code>

      Examples:
        | code                          |
        | INTEGRATION_NOT_CONNECTED     |
        | INTEGRATION_PERMISSION_DENIED |
        | RATE_LIMITED                  |
        | EXTERNAL_API_ERROR            |

    Scenario Outline: <code> of a calendar call is reported as a failure
      Given an agent
      And a call of calendar_get_availability
      And the Hub answers it with <code>
      When the agent makes the call
      Then the call fails
      And the failure reports <code>

      Examples:
        | code                          |
        | INTEGRATION_NOT_CONNECTED     |
        | INTEGRATION_PERMISSION_DENIED |
        | RATE_LIMITED                  |
        | EXTERNAL_API_ERROR            |

    # An agent that keeps what the Hub answered last reports it in place of the error.
    Scenario Outline: <code> of a call of <tool> after one that succeeded is reported as a failure
      Given an agent
      And a call of <tool>
      When the agent makes the call, and another like it that the Hub answers with <code>
      Then the call fails
      And the failure reports <code>

      Examples:
        | tool                  | code               |
        | email_send            | EXTERNAL_API_ERROR |
        | email_send            | RATE_LIMITED       |
        | email_search          | EXTERNAL_API_ERROR |
        | calendar_create_event | EXTERNAL_API_ERROR |
        | calendar_create_event | INTEGRATION_NOT_CONNECTED |
        | email_search          | RATE_LIMITED       |
        | email_send            | INTEGRATION_PERMISSION_DENIED |

    Scenario Outline: An error of a call of <tool> is reported as a failure
      Given an agent
      And a call of <tool>
      And the Hub answers it with EXTERNAL_API_ERROR
      When the agent makes the call
      Then the call fails
      And the failure reports EXTERNAL_API_ERROR

      Examples:
        | tool                        |
        | calendar_create_event       |
        | calendar_update_event       |
        | calendar_delete_event       |
        | calendar_find_optimal_times |
        | email_search                |
        | email_read                  |
        | email_check_replies         |

    Scenario Outline: <code> of a call of <tool> is reported as a failure
      Given an agent
      And a call of <tool>
      And the Hub answers it with <code>
      When the agent makes the call
      Then the call fails
      And the failure reports <code>

      Examples:
        | code                          | tool                        |
        | INTEGRATION_NOT_CONNECTED     | calendar_create_event       |
        | INTEGRATION_NOT_CONNECTED     | calendar_update_event       |
        | INTEGRATION_NOT_CONNECTED     | calendar_delete_event       |
        | INTEGRATION_NOT_CONNECTED     | calendar_find_optimal_times |
        | INTEGRATION_NOT_CONNECTED     | email_search                |
        | INTEGRATION_NOT_CONNECTED     | email_read                  |
        | INTEGRATION_NOT_CONNECTED     | email_check_replies         |
        | INTEGRATION_PERMISSION_DENIED | calendar_create_event       |
        | INTEGRATION_PERMISSION_DENIED | calendar_update_event       |
        | INTEGRATION_PERMISSION_DENIED | calendar_delete_event       |
        | INTEGRATION_PERMISSION_DENIED | calendar_find_optimal_times |
        | INTEGRATION_PERMISSION_DENIED | email_search                |
        | INTEGRATION_PERMISSION_DENIED | email_read                  |
        | INTEGRATION_PERMISSION_DENIED | email_check_replies         |
        | RATE_LIMITED                  | calendar_create_event       |
        | RATE_LIMITED                  | calendar_update_event       |
        | RATE_LIMITED                  | calendar_delete_event       |
        | RATE_LIMITED                  | calendar_find_optimal_times |
        | RATE_LIMITED                  | email_search                |
        | RATE_LIMITED                  | email_read                  |
        | RATE_LIMITED                  | email_check_replies         |

    @level:should
    Scenario Outline: A call that meets <code> is not made again and again
      Given an agent
      And a call of any Hub tool
      And the Hub answers it with <code>
      When the agent makes the call and time passes
      Then it is sent at most three times

      Examples:
        | code                          |
        | INTEGRATION_NOT_CONNECTED     |
        | INTEGRATION_PERMISSION_DENIED |

  @HUB-57 @last
  Rule: An expired integration is a failed call too

    Scenario Outline: INTEGRATION_EXPIRED of a call of <tool> is reported as a failure
      Given an agent
      And a call of <tool>
      And the Hub answers it with INTEGRATION_EXPIRED
      When the agent makes the call
      Then the call fails
      And the failure reports INTEGRATION_EXPIRED

      Examples:
        | tool                        |
        | any Hub tool                |
        | calendar_get_availability   |
        | calendar_create_event       |
        | calendar_update_event       |
        | calendar_delete_event       |
        | calendar_find_optimal_times |
        | email_search                |
        | email_read                  |
        | email_check_replies         |

  @HUB-58 @last
  Rule: An expired integration is the customer's affair

    Scenario: The agent does not give up on the Hub
      Given an agent
      And a call of any Hub tool
      And the Hub answers it with INTEGRATION_EXPIRED
      When the agent makes the call, and later another when the Hub answers as it should
      Then the call fails
      And the next call succeeds

    Scenario: The failure speaks of the integration
      Given an agent
      And a call of any Hub tool
      And the Hub answers it with INTEGRATION_EXPIRED
      When the agent makes the call and time passes
      Then the failure is the integration's
      And it is sent at most three times

  @HUB-59
  Rule: The link under which an integration is connected reaches the user

    Scenario: The link of any Hub tool
      Given an agent
      And a call of any Hub tool
      And the Hub answers it with INTEGRATION_NOT_CONNECTED
      When the agent makes the call
      Then the failure passes the setup link on

    Scenario: The link of the calendar
      Given an agent
      And a call of calendar_create_event
      And the Hub answers it with INTEGRATION_NOT_CONNECTED
      When the agent makes the call
      Then the failure passes the setup link on

    Scenario Outline: The link of <tool>
      Given an agent
      And a call of <tool>
      And the Hub answers it with INTEGRATION_NOT_CONNECTED
      When the agent makes the call
      Then the failure passes the setup link on

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | calendar_find_optimal_times |
        | email_search                |
        | email_read                  |
        | email_check_replies         |
        | calendar_update_event       |
        | calendar_delete_event       |

  @HUB-60 @last
  Rule: An answer outside the contract is a failed call

    Scenario Outline: The agent goes on after <answer>
      Given an agent
      And a call of any Hub tool
      And the Hub answers it with <answer>
      When the agent makes the call, and another when the Hub answers as it should
      Then the call fails
      And the next call succeeds

      Examples:
        | answer                         |
        | a page of HTML                 |
        | an empty body                  |
        | an empty list                  |
        | half a document                |
        | a closed connection            |
        | a page of HTML with status 200 |
        | nothing but null               |
        | a text                         |
        | an error with status 500       |
        | an empty object                |
        | a result whose success is a text |
        | a failure with a result        |
        | an error with a result         |

    # What looks like a result: nothing found, or nothing to report.
    Scenario Outline: A call of <tool> fails after <answer>
      Given an agent
      And a call of <tool>
      And the Hub answers it with <answer>
      When the agent makes the call, and another when the Hub answers as it should
      Then the call fails
      And the next call succeeds

      Examples:
        | tool                        | answer                |
        | calendar_get_availability   | an empty object       |
        | calendar_create_event       | a failure with a result |
        | calendar_update_event       | nothing but null      |
        | calendar_delete_event       | an empty body         |
        | calendar_find_optimal_times | an empty list         |
        | email_search                | an empty list         |
        | email_read                  | a text                |
        | email_check_replies         | an empty object       |
