@role:breadcrumb.workflow @cap:tool.workflow
Feature: What a workflow brings
  A workflow runs each step with its tool and hands back what the tools put out.

  @BRD-90
  Rule: A workflow takes steps with id, tool, input and, where needed, dependencies

    @cap:tool.echo
    Scenario: Steps without dependencies
      Given a tool runner
      And a workflow of these steps
        | id  | tool | input        |
        | one | echo | flint-{mark} |
        | two | echo | slate-{mark} |
      When the agent makes the call
      Then the workflow completes every step

    @cap:tool.echo
    Scenario: Steps whose dependencies are an empty list
      Given a tool runner
      And a workflow of these steps
        | id  | tool | input        | dependencies |
        | one | echo | flint-{mark} | []           |
        | two | echo | slate-{mark} | []           |
      When the agent makes the call
      Then the workflow completes every step

    @cap:tool.random @cap:tool.calculator
    Scenario: A step that depends on another
      Given a tool runner
      And a workflow of these steps
        | id   | tool       | input                  | dependencies |
        | draw | random     |                        |              |
        | add  | calculator | ${draw.numbers[0]} + 9 | draw         |
      When the agent makes the call
      Then the workflow completes every step

    @cap:tool.echo
    Scenario: One step
      Given a tool runner
      And a workflow of these steps
        | id   | tool | input        |
        | only | echo | flint-{mark} |
      When the agent makes the call
      Then the workflow completes every step

  @BRD-91
  Rule: Each step runs the tool that it names on its own input

    @cap:tool.echo @cap:tool.calculator
    Scenario: Different tools
      Given a tool runner
      And a workflow of these steps
        | id    | tool       | input        |
        | say   | echo       | flint-{mark} |
        | sum   | calculator | 310 + 14     |
        | other | calculator | 12 * 12      |
        | again | echo       | slate-{mark} |
      When the agent makes the call
      Then step say brings "flint-{mark}"
      And step sum brings "324"
      And step other brings "144"
      And step again brings "slate-{mark}"

    @cap:tool.breadcrumb-create
    Scenario: A step that stores something
      Given a tool runner
      And a workflow of these steps
        | id   | tool              | input        |
        | keep | breadcrumb-create | flint-{mark} |
      When the agent makes the call
      Then a step has stored "flint-{mark}"

    @cap:tool.breadcrumb-create
    Scenario: Two steps that store the same
      Given a tool runner
      And a workflow of these steps
        | id   | tool              | input        | dependencies |
        | keep | breadcrumb-create | flint-{mark} |              |
        | copy | breadcrumb-create | flint-{mark} | keep         |
      When the agent makes the call
      Then the workflow completes every step

    @cap:tool.timer @long
    Scenario: The same workflow again
      Given a tool runner
      And a workflow of these steps
        | id   | tool  | input |
        | rest | timer | 1     |
      And a workflow of these steps
        | id   | tool  | input |
        | rest | timer | 1     |
      When the agent makes the calls, each after the answer to the one before
      Then the output comes when the time is over

    @cap:tool.breadcrumb-create
    Scenario: A step whose input has nested values, numbers, and values that are easily taken for nothing
      Given a tool runner
      And a workflow whose step is a call of breadcrumb-create with nested values and numbers
      When the agent makes the call
      Then the breadcrumb that it stores holds them as they were

  @BRD-92
  Rule: The results have one entry for each step, keyed by its id

    @cap:tool.echo @cap:tool.calculator
    Scenario: Three steps
      Given a tool runner
      And a workflow of these steps
        | id      | tool       | input        | dependencies |
        | say     | echo       | flint-{mark} |              |
        | sum     | calculator | 310 + 14     |              |
        | step-3b | echo       | ${say.echo}! | say          |
      When the agent makes the call
      Then the workflow lists its results by step

    @cap:tool.echo @cap:tool.calculator
    Scenario: Three steps, the last one first
      Given a tool runner
      And a workflow of these steps
        | id      | tool       | input        | dependencies |
        | step-3b | echo       | ${say.echo}! | say          |
        | sum     | calculator | 12 * 12      |              |
        | say     | echo       | slate-{mark} |              |
      When the agent makes the call
      Then the workflow lists its results by step

    @cap:tool.echo
    Scenario: Two workflows, one after the other
      Given a tool runner
      And a workflow of these steps
        | id  | tool | input        | dependencies |
        | say | echo | flint-{mark} |              |
        | add | echo | ${say.echo}! | say          |
      And a sound workflow beside it
      When the agent makes the calls, each after the answer to the one before
      Then the workflow lists results of its own steps only

    @cap:tool.echo
    Scenario: Sixteen steps
      Given a tool runner
      And a workflow of these steps
        | id  | tool | input           |
        | n1  | echo | flint-{mark} 1  |
        | n2  | echo | flint-{mark} 2  |
        | n3  | echo | flint-{mark} 3  |
        | n4  | echo | flint-{mark} 4  |
        | n5  | echo | flint-{mark} 5  |
        | n6  | echo | flint-{mark} 6  |
        | n7  | echo | flint-{mark} 7  |
        | n8  | echo | flint-{mark} 8  |
        | n9  | echo | flint-{mark} 9  |
        | n10 | echo | flint-{mark} 10 |
        | n11 | echo | flint-{mark} 11 |
        | n12 | echo | flint-{mark} 12 |
        | n13 | echo | flint-{mark} 13 |
        | n14 | echo | flint-{mark} 14 |
        | n15 | echo | flint-{mark} 15 |
        | n16 | echo | flint-{mark} 16 |
      When the agent makes the call
      Then the workflow lists its results by step

    @cap:tool.echo
    Scenario: Two dozen steps
      Given a tool runner
      And a workflow of these steps
        | id  | tool | input           |
        | n1  | echo | flint-{mark} 1  |
        | n2  | echo | flint-{mark} 2  |
        | n3  | echo | flint-{mark} 3  |
        | n4  | echo | flint-{mark} 4  |
        | n5  | echo | flint-{mark} 5  |
        | n6  | echo | flint-{mark} 6  |
        | n7  | echo | flint-{mark} 7  |
        | n8  | echo | flint-{mark} 8  |
        | n9  | echo | flint-{mark} 9  |
        | n10 | echo | flint-{mark} 10 |
        | n11 | echo | flint-{mark} 11 |
        | n12 | echo | flint-{mark} 12 |
        | n13 | echo | flint-{mark} 13 |
        | n14 | echo | flint-{mark} 14 |
        | n15 | echo | flint-{mark} 15 |
        | n16 | echo | flint-{mark} 16 |
        | n17 | echo | flint-{mark} 17 |
        | n18 | echo | flint-{mark} 18 |
        | n19 | echo | flint-{mark} 19 |
        | n20 | echo | flint-{mark} 20 |
        | n21 | echo | flint-{mark} 21 |
        | n22 | echo | flint-{mark} 22 |
        | n23 | echo | flint-{mark} 23 |
        | n24 | echo | flint-{mark} 24 |
      When the agent makes the call
      Then the workflow lists its results by step

    @cap:tool.echo
    Scenario: A chain of eight steps
      Given a tool runner
      And a workflow of these steps
        | id | tool | input        | dependencies |
        | c1 | echo | flint-{mark} |              |
        | c2 | echo | ${c1.echo}!  | c1           |
        | c3 | echo | ${c2.echo}!  | c2           |
        | c4 | echo | ${c3.echo}!  | c3           |
        | c5 | echo | ${c4.echo}!  | c4           |
        | c6 | echo | ${c5.echo}!  | c5           |
        | c7 | echo | ${c6.echo}!  | c6           |
        | c8 | echo | ${c7.echo}!  | c7           |
      When the agent makes the call
      Then the workflow lists its results by step

  @BRD-93
  Rule: An entry of the results is what the step's tool put out

    @cap:tool.echo @cap:tool.calculator
    Scenario: Of echo and calculator
      Given a tool runner
      And a workflow of these steps
        | id  | tool       | input        |
        | say | echo       | flint-{mark} |
        | sum | calculator | 310 + 14     |
      When the agent makes the call
      Then the workflow brings the outputs of the tools

    @cap:tool.random
    Scenario: Of random
      Given a tool runner
      And a workflow of these steps
        | id   | tool   | input |
        | draw | random |       |
      When the agent makes the call
      Then the workflow brings the outputs of the tools

  @BRD-103
  Rule: A workflow is answered once under its own id

    @cap:tool.echo
    Scenario: Nothing that its steps send has this id
      Given a tool runner
      And a workflow of these steps
        | id  | tool | input        | dependencies |
        | one | echo | flint-{mark} |              |
        | two | echo | ${one.echo}! | one          |
      When the agent makes the call and says nothing more
      Then the workflow is answered once

    @cap:tool.echo @cap:tool.calculator
    Scenario: A workflow with a failing step
      Given a tool runner
      And a workflow of these steps
        | id     | tool       | input        | dependencies |
        | faulty | calculator | 1 +          |              |
        | two    | echo       | flint-{mark} | faulty       |
      And a sound workflow beside it
      When the agent makes the call and says nothing more
      Then the workflow is answered once
