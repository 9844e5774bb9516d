@role:utp.tool-service
@cap:probe.ctl
Feature: A tool overrides after_execution through its result
  The override stands in the card, under a namespace of its own, and nowhere else. The callback keeps what
  the command said, so that both can be distinguished later.

  @UTP-4.3-10
  Rule: A tool may override the effective after_execution

    Scenario: What the card of an overriding tool holds is recorded
      Given a Tool Service
      And a command for the ctl probe
      And the tool is asked to override with "terminate"
      When the worker sends the command
      Then it is noted whether the result overrides

  @TDG-1-09
  Rule: An override is suspend or terminate

    Scenario Outline: The override "<value>" is stored exactly so
      Given a Tool Service
      And a command for the ctl probe
      And the tool is asked to override with "<value>"
      When the worker sends the command
      Then the result overrides with "<value>"

      Examples:
        | value     |
        | suspend   |
        | terminate |

    Scenario Outline: The override "<value>" of a second call is stored exactly so
      Given a Tool Service
      And a command for the ctl probe was answered
      And a command for the ctl probe
      And the tool is asked to override with "<value>"
      When the worker sends the command
      Then the result overrides with "<value>"

      Examples:
        | value     |
        | suspend   |
        | terminate |

  @TDG-1-11
  Rule: The callback of an overriding result keeps the command's after_execution

    Scenario Outline: The callback says <sent> although the result overrides with <value>
      Given a Tool Service
      And a command for the ctl probe
      And the command's "after_execution" is "<sent>"
      And the tool is asked to override with "<value>"
      When the worker sends the command
      Then the callback's "after_execution" is the command's

      Examples:
        | sent      | value     |
        | suspend   | terminate |
        | terminate | suspend   |

    Scenario Outline: So do the callbacks of a repeated command that says <sent>
      Given a live Tool Service
      And a command for the ctl probe
      And the command's "after_execution" is "<sent>"
      And the tool is asked to override with "<value>"
      When the worker sends the command twice in a row
      Then the callback's "after_execution" is the command's

      Examples:
        | sent      | value     |
        | suspend   | terminate |
        | terminate | suspend   |

  @TDG-1-12
  Rule: The control object stays in the card

    Scenario: The control object is under result.__cg_control
      Given a Tool Service
      And a command for the ctl probe
      And the tool is asked to override with "terminate"
      When the worker sends the command
      Then the result overrides with "terminate"

    Scenario Outline: A control object with "<member>" is kept with it
      Given a Tool Service
      And a command for the ctl probe
      And the tool is asked to override with "terminate"
      And the tool.call card's argument "control" is {"after_execution": "terminate", "<member>": <value>, "note": "kept"}
      And the tool.call card's argument "__cg_control" is {"after_execution": "terminate", "<member>": <value>, "note": "kept"}
      When the worker sends the command
      Then the result overrides with "terminate"

      Examples:
        | member | value                |
        | reason | ["a", {"b": "c"}]    |
        | budget | 0                    |
        | until  | null                 |

    Scenario: The control object is there after the command was repeated
      Given a live Tool Service
      And a command for the ctl probe
      And the tool is asked to override with "terminate"
      When the worker sends the command twice in a row
      Then the result overrides with "terminate"

  @TDG-2-04
  Rule: An override is that of its own call

    Scenario: The result of the call after one that overrides has none of it
      Given a live Tool Service
      And a command for the ctl probe was answered
      And a command for the echo probe
      When the worker sends the command
      Then the result has no override of an earlier call
