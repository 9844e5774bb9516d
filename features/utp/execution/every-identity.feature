@role:utp.execution
@since:v1r4
@always
Feature: What every wakeup and every task event carries in headers
  These scenarios send nothing. When all others have ended, they judge what came after every valid callback that was
  reported in any of them.

  @R4-15
  Rule: Every wakeup carries the identity of its turn, and nothing of the call

    Scenario: The headers of every wakeup
      Given every valid callback that was reported
      Then the wakeup carries the identity of the report in headers
      And the wakeup carries nothing of the call

  @R4-18
  Rule: Every wakeup continues the trace of its report

    Scenario: The trace of every wakeup
      Given every valid callback that was reported
      Then the woken worker's trace continues the report's

  @R4-23
  Rule: Every task event carries the identity of its turn

    Scenario: The headers of every task event
      Given every valid callback that was reported
      Then the task event carries the identity of its turn in headers
