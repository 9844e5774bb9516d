@role:breadcrumb.tools
Feature: calculator, random, echo and timer
  The utility tools do what their names say, and each has its own member of the output for it.

  @BRD-64 @cap:tool.calculator
  Rule: A calculator gives the value of the expression as a number

    Scenario Outline: The value of <expression>
      Given a tool runner
      And a call of calculator for "<expression>"
      When the agent makes the call
      Then the result is <value>

      Examples: The four operations
        | expression | value |
        | 25 * 4     | 100   |
        | 31 + 11    | 42    |
        | 2 - 9      | -7    |
        | 9 / 4      | 2.25  |
        | 1.5 * 4    | 6     |

      Examples: Operators that go before others
        | expression  | value |
        | 2 + 3 * 4   | 14    |
        | 20 - 8 / 4  | 18    |
        | 10 - 4 - 3  | 3     |
        | 100 / 5 / 2 | 10    |
        | 10 - 4 + 3  | 9     |
        | 8 / 4 * 2   | 4     |

      Examples: Parentheses and signs
        | expression          | value |
        | (7 + 5) / 3         | 4     |
        | 2 * (3 + 4) * 5     | 70    |
        | ((1 + 2) * (3 + 4)) | 21    |
        | -3 + 5              | 2     |
        | 4 * -2              | -8    |
        | 7 - -3              | 10    |
        | -(2 + 3) * 2        | -10   |
        | 0 * 7               | 0     |

      Examples: Decimals and blanks
        | expression | value |
        | 0.5 + 0.25 | 0.75  |
        | 0.1 + 0.2  | 0.3   |
        | 1 / 8      | 0.125 |
        | 6*7        | 42    |
        | 1200 * 300 | 360000 |

      Examples: Large numbers and small ones
        | expression            | value         |
        | 70000 * 70000         | 4900000000    |
        | 1000000 * 1000000 + 1 | 1000000000001 |
        | 1 / 1000              | 0.001         |
        | 0.25 - 0.75           | -0.5          |
        | 1 / 80000             | 0.0000125     |

      Examples: A long expression
        | expression                                            | value  |
        | 12345 + 23456 - 34567 + 45678 - 56789 + 67890 - 78901 | -20888 |

      Examples: Several parentheses, and several signs
        | expression          | value |
        | 100 - (20 - 5) * 2  | 70    |
        | 5 - (3 - (2 - 1))   | 3     |
        | (8 - 2) / (5 - 2)   | 2     |
        | 8 / (4 * 2)         | 1     |
        | -3 * -4 - 2         | 10    |

      Examples: More than a whole number of 64 bits holds, and many digits
        | expression                | value                 |
        | 10000000000 * 10000000000 | 100000000000000000000 |
        | 123456789 + 0.125         | 123456789.125         |

      Examples: Several products, and parentheses within parentheses
        | expression                | value |
        | 2 * 3 + 4 * 5             | 26    |
        | 9 / 3 - 8 / 4             | 1     |
        | 2 * (3 + (4 - (5 - 3)))   | 10    |

      Examples: A small number of several digits
        | expression | value        |
        | 1 / 640000 | 0.0000015625 |

  @BRD-65 @cap:tool.random
  Rule: random gives at least one number

    Scenario: A number without any wish
      Given a tool runner
      And a valid call of random
      When the agent makes the call
      Then the output has a number

  @BRD-66 @cap:tool.echo
  Rule: echo gives the message back just as it was sent

    Scenario Outline: The message "<message>"
      Given a tool runner
      And a call of echo for "<message>"
      When the agent makes the call
      Then the output is the message

      Examples:
        | message              |
        | Hej på dig, Kåre!    |
        | MiXeD cAsE, 100 %    |
        | a < b && c > d       |
        | 42                   |
        | true                 |
        | 雨が降る 🌧            |
        | $1 and ${x} and {y}  |
        | 0                    |
        | false                |
        | null                 |
        | 3.50                 |
        | 1e3                  |
        | {} []                |
        | $HOME, %PATH% and ~  |
        | 2026-03-04T05:06:07Z |

    Scenario: A message with blanks around it
      Given a tool runner
      And a call of echo for "  two blanks  each  "
      When the agent makes the call
      Then the output is the message

    Scenario: A message without a character
      Given a tool runner
      And a call of echo for ""
      When the agent makes the call
      Then the output is the message

    Scenario Outline: A message with <what>
      Given a tool runner
      And a call of echo for "<message>"
      When the agent makes the call
      Then the output is the message

      Examples: Characters that nobody sees
        | what                     | message |
        | blanks that do not break | 10 km, 4 200 m |
        | a byte order mark first  | ﻿mark |
        | characters of no width   | co­ope⁠rate​now |

    Scenario Outline: A message with <text>
      Given a tool runner
      And a call of echo with <text>
      When the agent makes the call
      Then the tool has received <text> as it was

      Examples:
        | text                   |
        | two normal forms       |
        | quotes and backslashes |
        | JSON                   |
        | blanks around it       |
        | blank lines            |
        | markup                 |

    Scenario: A message that no other call has
      Given a tool runner
      And a valid call of echo
      When the agent makes the call
      Then the output is the message

  @cap:tool.timer @long
  Rule: timer waits as long as it is asked to, and says so

    @BRD-67
    Scenario: It says how long
      Given a tool runner
      And a valid call of timer
      When the agent makes the call
      Then the output says how long it waited

    @BRD-67
    Scenario: Of two timers of one message each says how long
      Given a tool runner
      And a valid call of timer
      And a call of timer for twice the time
      When the agent makes the calls
      Then the output says how long it waited

    @BRD-68
    Scenario: It does not answer before
      Given a tool runner
      And a valid call of timer
      When the agent makes the call
      Then the output comes when the time is over

    @BRD-68
    Scenario: Nor does it when it waited as long before
      Given a tool runner
      And a valid call of timer
      And a valid call of timer
      When the agent makes the calls, each after the answer to the one before
      Then the output comes when the time is over

    @BRD-68
    Scenario: Of two timers of one message neither does
      Given a tool runner
      And a valid call of timer
      And a call of timer for twice the time
      When the agent makes the calls
      Then the output comes when the time is over

    # That a timer takes fractions is not said; one that takes them waits for them too.
    @BRD-68
    Scenario: Nor does it where the time is no whole number of seconds
      Given a tool runner
      And a call of timer for half as long again
      When the agent makes the call
      Then the output comes when the time is over, where the tool takes a fraction
