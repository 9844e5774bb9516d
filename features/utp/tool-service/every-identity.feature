@role:utp.tool-service
@since:v1r4
@always
Feature: What holds of the headers of every call of a Tool Service
  These scenarios send nothing. They judge the reports of all commands that the others sent, with a whole identity in
  their headers.

  Rule: Every report is addressed by its headers

    @R4-08
    Scenario Outline: Every report repeats "<member>" of its command
      Given every command of the run
      Then the callback's "<member>" is the command's

      Examples:
        | member        |
        | agent_id      |
        | agent_turn_id |
        | turn_epoch    |
        | tool_call_id  |
        | step_id       |

    @R4-21
    Scenario: Every report has the depth of its command
      Given every command of the run
      Then the callback's "recursion_depth" is the command's

    @R4-18
    Scenario: Every report continues the trace of its command
      Given every command of the run
      Then the callback's trace continues the command's

    @R4-07
    Scenario: No callback has a control member
      Given every command of the run
      Then the callback holds no control member

    @R4-09
    Scenario: Every tool.result card is its reporter's and names a function
      Given every command of the run
      Then the tool.result card's author is who reports it
      And the tool.result card names the tool as its function
