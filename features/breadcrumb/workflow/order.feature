@role:breadcrumb.workflow @cap:tool.workflow
Feature: The order of a workflow's steps
  Dependencies say what comes first; the order in which steps are listed says nothing.

  @BRD-96 @cap:tool.timer @long
  Rule: A step starts when all its dependencies have finished

    @cap:tool.calculator
    Scenario: What a timer waited is used
      Given a tool runner
      And a workflow of these steps
        | id   | tool       | input              | dependencies |
        | rest | timer      | 1                  |              |
        | say  | calculator | ${rest.waited} + 0 | rest         |
      When the agent makes the call
      Then step say brings about 1

    @cap:tool.breadcrumb-create
    Scenario: A step that uses nothing of what it waits for
      Given a tool runner
      And a workflow of these steps
        | id   | tool              | input        | dependencies |
        | rest | timer             | 1            |              |
        | keep | breadcrumb-create | flint-{mark} | rest         |
      When the agent makes the call
      Then nothing of it comes before 1.0 seconds have passed

    @cap:tool.echo @cap:tool.breadcrumb-create
    Scenario Outline: A step with one fast and one slow dependency, as <dependencies>
      Given a tool runner
      And a workflow of these steps
        | id   | tool              | input        | dependencies   |
        | fast | echo              | amber-{mark} |                |
        | rest | timer             | 1            |                |
        | keep | breadcrumb-create | flint-{mark} | <dependencies> |
      When the agent makes the call
      Then nothing of it comes before 1.0 seconds have passed

      Examples:
        | dependencies |
        | fast rest    |
        | rest fast    |

    @cap:tool.echo @cap:tool.breadcrumb-create
    Scenario Outline: A step that waits for <slow>, where <fast> has finished
      Given a tool runner
      And a workflow of these steps
        | id     | tool              | input        | dependencies |
        | <fast> | echo              | amber-{mark} |              |
        | <slow> | timer             | 1            |              |
        | keep   | breadcrumb-create | flint-{mark} | <slow>       |
      When the agent makes the call
      Then nothing of it comes before 1.0 seconds have passed

      Examples:
        | fast  | slow  |
        | rest  | rest2 |
        | rest2 | rest  |

  @BRD-97 @cap:tool.echo
  Rule: A step waits for a dependency that is listed after it

    Scenario: Two steps, the later one first
      Given a tool runner
      And a workflow of these steps
        | id    | tool | input              | dependencies |
        | next  | echo | after ${first.echo} | first       |
        | first | echo | amber-{mark}       |              |
      When the agent makes the call
      Then step next brings "after amber-{mark}"

    Scenario: A chain in reverse
      Given a tool runner
      And a workflow of these steps
        | id  | tool | input         | dependencies |
        | c   | echo | ${b.echo} c   | b            |
        | b   | echo | ${a.echo} b   | a            |
        | a   | echo | {mark}        |              |
      When the agent makes the call
      Then step c brings "{mark} b c"

    Scenario: A meeting of two ways
      Given a tool runner
      And a workflow of these steps
        | id    | tool | input                       | dependencies |
        | end   | echo | ${left.echo}/${right.echo}  | left right   |
        | right | echo | ${begin.echo}r              | begin        |
        | begin | echo | {mark}                      |              |
        | left  | echo | ${begin.echo}l              | begin        |
      When the agent makes the call
      Then step end brings "{mark}l/{mark}r"

    Scenario: A meeting of three ways
      Given a tool runner
      And a workflow of these steps
        | id     | tool | input                                     | dependencies      |
        | last   | echo | ${join.echo}!                             | join              |
        | join   | echo | ${left.echo}/${middle.echo}/${right.echo} | left middle right |
        | left   | echo | ${begin.echo}l                            | begin             |
        | middle | echo | ${begin.echo}m                            | begin             |
        | right  | echo | ${middle.echo}r                           | middle            |
        | begin  | echo | {mark}                                    |                   |
      When the agent makes the call
      Then step last brings "{mark}l/{mark}m/{mark}mr!"

    Scenario: Many steps that wait for the last one
      Given a tool runner
      And a workflow of these steps
        | id   | tool | input          | dependencies |
        | s1   | echo | ${root.echo} 1 | root         |
        | s2   | echo | ${root.echo} 2 | root         |
        | s3   | echo | ${root.echo} 3 | root         |
        | s4   | echo | ${root.echo} 4 | root         |
        | s5   | echo | ${root.echo} 5 | root         |
        | s6   | echo | ${root.echo} 6 | root         |
        | s7   | echo | ${root.echo} 7 | root         |
        | s8   | echo | ${root.echo} 8 | root         |
        | s9   | echo | ${root.echo} 9 | root         |
        | root | echo | {mark}         |              |
      When the agent makes the call
      Then step s9 brings "{mark} 9"

  @BRD-98 @cap:tool.echo
  Rule: executionOrder names each step once

    Scenario: Independent steps
      Given a tool runner
      And a workflow of these steps
        | id  | tool | input        |
        | one | echo | amber-{mark} |
        | two | echo | beryl-{mark} |
      When the agent makes the call
      Then the workflow names each step once in its order

    Scenario: A chain in reverse
      Given a tool runner
      And a workflow of these steps
        | id  | tool | input         | dependencies |
        | c   | echo | ${b.echo} c   | b            |
        | b   | echo | ${a.echo} b   | a            |
        | a   | echo | {mark}        |              |
      When the agent makes the call
      Then the workflow names each step once in its order

    @cap:tool.calculator
    Scenario Outline: A step that fails: <expression>
      Given a tool runner
      And a workflow of these steps
        | id     | tool       | input        |
        | fine   | echo       | flint-{mark} |
        | faulty | calculator | <expression> |
      And a sound workflow beside it
      When the agent makes the call
      Then the workflow names no step twice

      Examples:
        | expression |
        | 1 +        |
        | (2 + 3     |

  @BRD-99 @cap:tool.echo
  Rule: In executionOrder no step stands ahead of its dependencies

    Scenario: A chain in its order
      Given a tool runner
      And a workflow of these steps
        | id  | tool | input         | dependencies |
        | a   | echo | {mark}        |              |
        | b   | echo | ${a.echo} b   | a            |
        | c   | echo | ${b.echo} c   | b            |
      When the agent makes the call
      Then the workflow lists every step after its dependencies

    Scenario: A chain in reverse
      Given a tool runner
      And a workflow of these steps
        | id  | tool | input         | dependencies |
        | c   | echo | ${b.echo} c   | b            |
        | b   | echo | ${a.echo} b   | a            |
        | a   | echo | {mark}        |              |
      When the agent makes the call
      Then the workflow lists every step after its dependencies

    Scenario: A meeting of two ways
      Given a tool runner
      And a workflow of these steps
        | id    | tool | input                       | dependencies |
        | end   | echo | ${left.echo}/${right.echo}  | left right   |
        | right | echo | ${begin.echo}r              | begin        |
        | begin | echo | {mark}                      |              |
        | left  | echo | ${begin.echo}l              | begin        |
      When the agent makes the call
      Then the workflow lists every step after its dependencies

    Scenario: A chain of steps whose ids are numbers
      Given a tool runner
      And a workflow of these steps
        | id | tool | input        | dependencies |
        | 10 | echo | amber-{mark} |              |
        | 9  | echo | beryl-{mark} | 10           |
        | 8  | echo | flint-{mark} | 9            |
      When the agent makes the call
      Then the workflow lists every step after its dependencies

  @BRD-104 @cap:tool.timer @long
  Rule: Independent steps may run at the same time

    Scenario: Two timers
      Given a tool runner
      And a workflow of these steps
        | id  | tool  | input |
        | one | timer | 1     |
        | two | timer | 1     |
      When the agent makes the call
      Then it is noted whether independent steps run side by side
