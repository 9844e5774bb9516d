@role:hub.agent
Feature: A result becomes the outcome of the call
  A Hub that follows the contract is all that an agent needs. Each result holds a marker that no request
  named, so an outcome that shows it came from the Hub.

  @HUB-38
  Rule: The outcome is the result and not the envelope

    Scenario Outline: The result of <tool> is its outcome
      Given an agent
      And a call of <tool>
      When the agent makes the call
      Then the outcome is the result

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

    Scenario Outline: The outcome of <tool> has every value of its result
      Given an agent
      And a call of <tool>
      When the agent makes the call
      Then the outcome has every value of the result

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | calendar_create_event       |
        | calendar_find_optimal_times |
        | email_send                  |
        | email_search                |
        | email_read                  |
        | email_check_replies         |

  @HUB-119
  Rule: A Hub that answers by the contract is enough

    Scenario Outline: <tool> works with the mock Hub
      Given an agent
      And a call of <tool>
      When the agent makes the call
      Then the Hub is asked to execute it
      And the call succeeds
      And it is executed once

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

    # Both are in the contract: `error` may be null, and a cached result takes no time and no call of the provider.
    Scenario Outline: A result of <tool> beside an error that is null is a success
      Given an agent
      And a call of <tool>
      And the Hub answers it with a success whose error is null
      When the agent makes the call
      Then the call succeeds

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
