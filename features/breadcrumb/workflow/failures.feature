@role:breadcrumb.workflow @cap:tool.workflow @cap:tool.echo
Feature: A workflow with a step that fails
  Whether a workflow goes on or ends there is its own affair; that something failed is reported.

  @BRD-100
  Rule: A workflow does not hide a failed step

    @cap:tool.calculator
    Scenario: An expression that is none
      Given a tool runner
      And a workflow of these steps
        | id     | tool       | input        |
        | faulty | calculator | 1 +          |
        | fine   | echo       | flint-{mark} |
      And a sound workflow beside it
      When the agent makes the call
      Then the workflow reports that faulty failed

    @cap:tool.calculator
    Scenario: The last step of a chain
      Given a tool runner
      And a workflow of these steps
        | id     | tool       | input              | dependencies |
        | fine   | echo       | flint-{mark}       |              |
        | faulty | calculator | (${fine.echo} + )  | fine         |
      And a sound workflow beside it
      When the agent makes the call
      Then the workflow reports that faulty failed

    Scenario: A tool that there is not
      Given a tool runner
      And a workflow of these steps
        | id     | tool         | input        |
        | fine   | echo         | flint-{mark} |
        | faulty | no-such-tool | flint-{mark} |
      And a sound workflow beside it
      When the agent makes the call
      Then the workflow reports that faulty failed

    @cap:tool.timer
    Scenario: A timer that is asked to wait for a word
      Given a tool runner
      And a workflow of these steps
        | id     | tool  | input        |
        | faulty | timer | soon         |
        | fine   | echo  | flint-{mark} |
      And a sound workflow beside it
      When the agent makes the call
      Then the workflow reports that faulty failed

    @level:should
    Scenario: Two steps that wait for each other
      Given a tool runner
      And a workflow of these steps
        | id    | tool | input           | dependencies |
        | egg   | echo | ${hen.echo} egg | hen          |
        | hen   | echo | ${egg.echo} hen | egg          |
      And a sound workflow beside it
      When the agent makes the call
      Then the workflow reports trouble

    @level:should
    Scenario: A dependency that is no step
      Given a tool runner
      And a workflow of these steps
        | id   | tool | input         | dependencies |
        | fine | echo | flint-{mark}  | nobody       |
      And a sound workflow beside it
      When the agent makes the call
      Then the workflow reports trouble

    @cap:tool.random
    Scenario: A tool in another spelling
      Given a tool runner
      And a workflow of these steps
        | id     | tool   | input        |
        | fine   | echo   | flint-{mark} |
        | faulty | Random |              |
      And a sound workflow beside it
      When the agent makes the call
      Then the workflow reports that faulty failed

    @level:should
    Scenario: A step that waits for itself
      Given a tool runner
      And a workflow of these steps
        | id  | tool | input           | dependencies |
        | own | echo | flint-{mark}    | own          |
      And a sound workflow beside it
      When the agent makes the call
      Then the workflow reports trouble

    @level:should
    Scenario: Three steps that wait for each other, beside one that waits for none
      Given a tool runner
      And a workflow of these steps
        | id   | tool | input             | dependencies |
        | fine | echo | flint-{mark}      |              |
        | egg  | echo | ${cock.echo} egg  | cock         |
        | hen  | echo | ${egg.echo} hen   | egg          |
        | cock | echo | ${hen.echo} cock  | hen          |
      And a sound workflow beside it
      When the agent makes the call
      Then the workflow reports trouble

    @cap:tool.calculator
    Scenario: A division by zero
      Given a tool runner
      And a workflow of these steps
        | id     | tool       | input        |
        | fine   | echo       | flint-{mark} |
        | faulty | calculator | 1 / 0        |
      And a sound workflow beside it
      When the agent makes the call
      Then the workflow reports that faulty failed

    @cap:tool.ollama_local
    Scenario Outline: A language model whose provider answers with <answer>
      Given a tool runner
      And a workflow of these steps
        | id     | tool         | input                   | dependencies |
        | fine   | echo         | flint-{mark}            |              |
        | faulty | ollama_local | Colour of coal, {mark}? | fine         |
      And a sound workflow beside it
      And the provider answers with <answer>
      When the agent makes the call
      Then the workflow reports that faulty failed

      Examples:
        | answer                       |
        | status 404                   |
        | an error in place of a reply |

    Scenario: A step that names no tool
      Given a tool runner
      And a workflow of these steps
        | id     | tool | input        |
        | fine   | echo | flint-{mark} |
        | faulty |      | flint-{mark} |
      And a sound workflow beside it
      When the agent makes the call
      Then the workflow reports that faulty failed

    # Whether a workflow goes on after a failure is its own affair.
    @cap:tool.calculator @level:should
    Scenario: Two steps that do not wait for each other
      Given a tool runner
      And a workflow of these steps
        | id     | tool       | input        |
        | faulty | calculator | 1 +          |
        | fine   | echo       | flint-{mark} |
        | broken | calculator | 2 +          |
      And a sound workflow beside it
      When the agent makes the call
      Then the workflow reports that faulty failed
      And the workflow reports that broken failed

  @BRD-101
  Rule: A workflow in which nothing failed has no errors

    @cap:tool.calculator
    Scenario: Independent steps
      Given a tool runner
      And a workflow of these steps
        | id  | tool       | input        |
        | say | echo       | flint-{mark} |
        | sum | calculator | 310 + 14     |
      When the agent makes the call
      Then the workflow has no errors

    Scenario: A chain
      Given a tool runner
      And a workflow of these steps
        | id  | tool | input         | dependencies |
        | a   | echo | {mark}        |              |
        | b   | echo | ${a.echo} b   | a            |
      When the agent makes the call
      Then the workflow has no errors

    @cap:tool.calculator @cap:tool.breadcrumb-search
    Scenario: Steps that bring a zero, an empty text and an empty list
      Given a tool runner
      And a workflow of these steps
        | id   | tool              | input     |
        | zero | calculator        | 310 - 310 |
        | void | echo              |           |
        | find | breadcrumb-search |           |
      When the agent makes the call
      Then the workflow has no errors

  @BRD-102 @cap:tool.calculator
  Rule: A step that depends on a failed one should not run with a reference left in its input

    Scenario: A step that echoes what there is not
      Given a tool runner
      And a workflow of these steps
        | id     | tool       | input                      | dependencies |
        | faulty | calculator | 1 +                        |              |
        | next   | echo       | {mark}: ${faulty.result} | faulty       |
      And a sound workflow beside it
      When the agent makes the call
      Then the workflow leaves no reference in the input of a step

    @cap:tool.breadcrumb-create
    Scenario: A step that stores what there is not
      Given a tool runner
      And a workflow of these steps
        | id     | tool              | input                      | dependencies |
        | faulty | calculator        | 1 +                        |              |
        | keep   | breadcrumb-create | {mark}: ${faulty.result} | faulty       |
      And a sound workflow beside it
      When the agent makes the call
      Then the workflow leaves no reference in the input of a step

    Scenario: A step that depends on one that could not run
      Given a tool runner
      And a workflow of these steps
        | id     | tool       | input                    | dependencies |
        | faulty | calculator | 1 +                      |              |
        | next   | calculator | ${faulty.result} + 1     | faulty       |
        | last   | echo       | {mark}: ${next.result}   | next         |
      And a sound workflow beside it
      When the agent makes the call
      Then the workflow leaves no reference in the input of a step
