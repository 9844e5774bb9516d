@role:breadcrumb.runner
Feature: A runner answers each call with a breadcrumb
  The answer names the call by its id, says whether it succeeded, and brings the tool's output or the reason.

  Rule: An answer is a breadcrumb of schema tool.response.v1

    @BRD-47 @cap:tool.echo
    Scenario: The answer to a call of echo
      Given a tool runner
      And a call of echo
      When the agent makes the call
      Then the answer is a breadcrumb of schema tool.response.v1
