@role:hub.agent
Feature: A tool that the Hub does not know
  An agent may remember what a Hub does not know and ask for it no more, so these scenarios come after all others.

  @HUB-57 @last
  Rule: A tool that the Hub does not know is a failed call for every tool

    Scenario Outline: TOOL_NOT_FOUND of a call of <tool> is reported as a failure
      Given an agent
      And a call of <tool>
      And the Hub answers it with TOOL_NOT_FOUND
      When the agent makes the call
      Then the call fails
      And the failure reports TOOL_NOT_FOUND

      Examples:
        | tool                        |
        | calendar_create_event       |
        | calendar_update_event       |
        | calendar_delete_event       |
        | calendar_find_optimal_times |
        | email_search                |
        | email_read                  |
        | email_check_replies         |
        | any Hub tool                |
        | calendar_get_availability   |
