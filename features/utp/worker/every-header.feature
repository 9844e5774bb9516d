@role:utp.worker
@since:v1r4
@always
Feature: What holds of the headers of every command of a worker
  These scenarios send nothing. They judge every command that the worker sent in any of the others, to tools and to the
  PMO.

  Rule: Every command says in headers, and there alone, whose call it is

    @R4-11
    Scenario Outline: Every command names "<member>"
      Given every command to anyone
      Then the command carries "<member>"

      Examples:
        | member          |
        | project_id      |
        | channel_id      |
        | agent_id        |
        | agent_turn_id   |
        | turn_epoch      |
        | step_id         |
        | tool_call_id    |
        | recursion_depth |

    @R4-12
    Scenario: No command has a control member in its payload
      Given every command to anyone
      Then the command holds no control member
