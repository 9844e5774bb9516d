@role:breadcrumb.workflow @cap:tool.workflow
Feature: References to earlier steps
  `${stepId.field}` in a step's input stands for that part of what an earlier step put out.

  @BRD-94
  Rule: A reference is replaced by that part of the earlier output

    @cap:tool.echo
    Scenario: A member
      Given a tool runner
      And a workflow of these steps
        | id    | tool | input        | dependencies |
        | first | echo | amber-{mark} |              |
        | next  | echo | ${first.echo} | first       |
      When the agent makes the call
      Then step next brings "amber-{mark}"

    @cap:tool.calculator
    Scenario: A number
      Given a tool runner
      And a workflow of these steps
        | id    | tool       | input           | dependencies |
        | first | calculator | 310 + 14        |              |
        | next  | calculator | ${first.result} * 2 | first    |
      When the agent makes the call
      Then step next brings "648"

    @cap:tool.calculator
    Scenario: A zero
      Given a tool runner
      And a workflow of these steps
        | id    | tool       | input                 | dependencies |
        | first | calculator | 310 - 310             |              |
        | next  | calculator | ${first.result} + 813 | first        |
      When the agent makes the call
      Then step next brings "813"

    @cap:tool.calculator
    Scenario: A negative number
      Given a tool runner
      And a workflow of these steps
        | id    | tool       | input                  | dependencies |
        | first | calculator | 310 - 1000             |              |
        | next  | calculator | ${first.result} + 2024 | first        |
      When the agent makes the call
      Then step next brings "1334"

    @cap:tool.calculator
    Scenario: A fraction
      Given a tool runner
      And a workflow of these steps
        | id    | tool       | input                 | dependencies |
        | first | calculator | 613 / 4               |              |
        | next  | calculator | ${first.result} * 100 | first        |
      When the agent makes the call
      Then step next brings "15325"

    @cap:tool.calculator
    Scenario: A number of ten digits
      Given a tool runner
      And a workflow of these steps
        | id    | tool       | input               | dependencies |
        | first | calculator | 1234567 * 1001      |              |
        | next  | calculator | ${first.result} + 8 | first        |
      When the agent makes the call
      Then step next brings "1235801575"

    @cap:tool.calculator
    Scenario: A fraction of nine digits
      Given a tool runner
      And a workflow of these steps
        | id    | tool       | input               | dependencies |
        | first | calculator | 98765 + 0.0625      |              |
        | next  | calculator | ${first.result} + 8 | first        |
      When the agent makes the call
      Then step first brings "98765.0625"
      And step next brings "98773.0625"

    @cap:tool.echo
    Scenario Outline: A text that is <text>
      Given a tool runner
      And a workflow of these steps
        | id    | tool | input           | dependencies |
        | first | echo | <text>          |              |
        | next  | echo | (${first.echo}) | first        |
      When the agent makes the call
      Then step next brings "(<text>)"

      Examples:
        | text             |
        | 0                |
        | false            |
        | null             |
        | 007.50           |
        | Zażółć — 水 — 👩‍🚀 |
        | C:\\temp \\1 \\g<0>  |
        | one\ntwo          |

    @cap:tool.echo
    Scenario: A text without a character
      Given a tool runner
      And a workflow of these steps
        | id    | tool | input           | dependencies |
        | first | echo |                 |              |
        | next  | echo | (${first.echo}) | first        |
      When the agent makes the call
      Then step next brings "()"

    @cap:tool.echo
    Scenario: A text with blanks around it
      Given a tool runner
      And a workflow of these steps
        | id    | tool | input                                  | dependencies |
        | none  | echo |                                        |              |
        | first | echo | ${none.echo} flint-{mark} ${none.echo} | none         |
        | next  | echo | (${first.echo})                        | first        |
      When the agent makes the call
      Then step next brings "( flint-{mark} )"

    @cap:tool.echo
    Scenario Outline: A text that is the JSON <text>
      Given a tool runner
      And a workflow of these steps
        | id    | tool | input         | dependencies |
        | first | echo | <text>        |              |
        | next  | echo | ${first.echo} | first        |
      When the agent makes the call
      Then step next brings what first brings

      Examples:
        | text             |
        | {"stone": "jet"} |
        | ["jet", "onyx"]  |

    @cap:tool.echo @level:should
    Scenario: A text that looks like a reference to another step
      Given a tool runner
      And a workflow of these steps
        | id    | tool | input                    | dependencies |
        | sign  | echo | $                        |              |
        | other | echo | amber-{mark}             |              |
        | first | echo | ${sign.echo}{other.echo} | sign         |
        | next  | echo | (${first.echo})          | first other  |
      When the agent makes the call
      Then step next brings "(${other.echo})"

    @cap:tool.random @cap:tool.calculator
    Scenario: An item of an array
      Given a tool runner
      And a workflow of these steps
        | id   | tool       | input                     | dependencies |
        | draw | random     |                           |              |
        | add  | calculator | ${draw.numbers[0]} + 1000 | draw         |
      When the agent makes the call
      Then step add brings the number of draw and 1000

    @cap:tool.calculator @cap:tool.ollama_local
    Scenario: A member of a member
      Given a tool runner
      And a workflow of these steps
        | id  | tool         | input                         | dependencies |
        | ask | ollama_local | Colour of coal, {mark}?       |              |
        | sum | calculator   | ${ask.usage.total_tokens} + 0 | ask          |
      When the agent makes the call
      Then step sum brings "{tokens}"

    @cap:tool.echo @cap:tool.breadcrumb-search
    Scenario: A member of an item
      Given a tool runner
      And a stored breadcrumb
      And a workflow of these steps
        | id   | tool              | input                    | dependencies |
        | find | breadcrumb-search |                          |              |
        | say  | echo              | ${find.breadcrumbs[0].id} | find        |
      When the agent makes the call
      Then step say brings "{stored}"

    @cap:tool.echo @cap:tool.breadcrumb-search
    Scenario: A member of the second item
      Given a tool runner
      And a stored breadcrumb
      And a stored breadcrumb
      And a workflow of these steps
        | id   | tool              | input                    | dependencies |
        | find | breadcrumb-search |                          |              |
        | say  | echo              | ${find.breadcrumbs[1].id} | find        |
      When the agent makes the call
      Then step say brings the id of item 1 of find

    @cap:tool.echo @cap:tool.breadcrumb-create
    Scenario: Deep in an input
      Given a tool runner
      And a workflow of these steps
        | id    | tool              | input         | dependencies |
        | first | echo              | amber-{mark}  |              |
        | keep  | breadcrumb-create | ${first.echo} | first        |
      When the agent makes the call
      Then a step has stored "amber-{mark}"

    @cap:tool.echo
    Scenario Outline: A step whose id is <id>
      Given a tool runner
      And a workflow of these steps
        | id   | tool | input        | dependencies |
        | <id> | echo | amber-{mark} |              |
        | next | echo | ${<id>.echo} | <id>         |
      When the agent makes the call
      Then step next brings "amber-{mark}"

      Examples:
        | id     |
        | step_2 |
        | Fetch  |
        | a      |

      @level:should
      Examples: A hyphen
        | id     |
        | step-1 |

      @level:should
      Examples: Letters that ASCII does not have
        | id     |
        | étape  |
        | 工程2   |

    @cap:tool.echo @cap:tool.timer @long
    Scenario: The same ids as in a workflow beside it
      Given a tool runner
      And a workflow of these steps
        | id     | tool  | input              | dependencies |
        | first  | echo  | beryl-{mark}       |              |
        | rest   | timer | 1                  | first        |
        | second | echo  | more ${first.echo} | first rest   |
      And a sound workflow beside it
      When the agent makes the call
      Then step second brings "more beryl-{mark}"

    @cap:tool.echo
    Scenario: A value that looks like a pattern
      Given a tool runner
      And a workflow of these steps
        | id    | tool | input                 | dependencies |
        | first | echo | $& $1 $$ "{mark}" |             |
        | next  | echo | ${first.echo}     | first       |
      When the agent makes the call
      Then step next brings what first brings

    @cap:tool.echo @cap:tool.breadcrumb-create @level:should
    Scenario: A truth value
      Given a tool runner
      And a workflow of these steps
        | id   | tool              | input                   | dependencies |
        | keep | breadcrumb-create | flint-{mark}            |              |
        | say  | echo              | stored: ${keep.success} | keep         |
      When the agent makes the call
      Then step say brings "stored: true"

    @cap:tool.calculator
    Scenario: A zero inside an expression
      Given a tool runner
      And a workflow of these steps
        | id    | tool       | input                     | dependencies |
        | first | calculator | 310 - 310                 |              |
        | next  | calculator | 5 * ${first.result} + 813 | first        |
      When the agent makes the call
      Then step next brings "813"

  @BRD-95
  Rule: A reference is replaced at its place in a text, and each of several

    @cap:tool.echo
    Scenario Outline: In <input>
      Given a tool runner
      And a workflow of these steps
        | id  | tool | input        | dependencies |
        | one | echo | amber-{mark} |              |
        | two | echo | beryl-{mark} |              |
        | say | echo | <input>      | one two      |
      When the agent makes the call
      Then step say brings "<expected>"

      Examples:
        | input                             | expected                                         |
        | Stone: ${one.echo}                | Stone: amber-{mark}                              |
        | ${one.echo} it is                 | amber-{mark} it is                               |
        | (${one.echo})                     | (amber-{mark})                                   |
        | ${one.echo}-${two.echo}           | amber-{mark}-beryl-{mark}                        |
        | ${two.echo}${one.echo}            | beryl-{mark}amber-{mark}                         |
        | ${one.echo}, again ${one.echo}    | amber-{mark}, again amber-{mark}                 |
        | $5 for ${one.echo}, {no} more     | $5 for amber-{mark}, {no} more                   |

    @cap:tool.random @cap:tool.calculator
    Scenario: In an expression
      Given a tool runner
      And a workflow of these steps
        | id   | tool       | input                        | dependencies |
        | draw | random     |                              |              |
        | add  | calculator | 500 + ${draw.numbers[0]} + 7 | draw         |
      When the agent makes the call
      Then step add brings the number of draw and 507

    @cap:tool.echo
    Scenario Outline: A value that looks like a pattern: <text>
      Given a tool runner
      And a workflow of these steps
        | id    | tool | input                         | dependencies |
        | first | echo | <text>                        |              |
        | next  | echo | Stone (${first.echo}) no more | first        |
      When the agent makes the call
      Then step next brings "Stone (<text>) no more"

      Examples:
        | text     |
        | jet $& 5 |
        | jet $1 5 |
        | jet $$ 5 |
