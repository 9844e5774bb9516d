@role:breadcrumb.runner
Feature: A runner answers each call with a breadcrumb
  The answer names the call by its id, says whether it succeeded, and brings the tool's output or the reason.

  @BRD-47
  Rule: An answer is a breadcrumb of schema tool.response.v1

    Scenario: The answer to a success
      Given a tool runner
      And a call
      When the agent makes the call
      Then the answer is a breadcrumb of schema tool.response.v1

    Scenario Outline: The answer to a failure: <failure>
      Given a tool runner
      And a call with <failure>
      When the agent makes the call
      Then the answer is a breadcrumb of schema tool.response.v1

      Examples:
        | failure                       |
        | an expression that breaks off |
        | a tool that nobody has        |

  @BRD-48
  Rule: The members of an answer stand in its context

    Scenario: Of a success
      Given a tool runner
      And a call
      When the agent makes the call
      Then the answer has its members in its context

    Scenario Outline: Of a failure: <failure>
      Given a tool runner
      And a call with <failure>
      When the agent makes the call
      Then the answer has its members in its context

      Examples:
        | failure                       |
        | an expression that breaks off |
        | a tool that nobody has        |

  @BRD-49
  Rule: An answer spells the id of its request request_id

    Scenario: Of a success
      Given a tool runner
      And a call
      When the agent makes the call
      Then the answer spells its id request_id

    Scenario Outline: Of a failure: <failure>
      Given a tool runner
      And a call with <failure>
      When the agent makes the call
      Then the answer spells its id request_id

      Examples:
        | failure                       |
        | an expression that breaks off |
        | a tool that nobody has        |

  @BRD-50
  Rule: An answer repeats the name of the tool that was asked for

    @long
    Scenario Outline: <tool>
      Given a tool runner
      And a call of <tool>
      When the agent makes the call
      Then the answer repeats the name of the tool

      Examples:
        | tool              |
        | echo              |
        | calculator        |
        | random            |
        | timer             |
        | breadcrumb-create |
        | breadcrumb-update |
        | breadcrumb-search |
        | workflow          |

    Scenario Outline: After a failure: <failure>
      Given a tool runner
      And a call with <failure>
      When the agent makes the call
      Then the answer repeats the name of the tool

      Examples:
        | failure                       |
        | an expression that breaks off |
        | no expression                 |
        | a word for seconds            |
        | an update of nothing          |
        | a tool that nobody has        |

  @BRD-51
  Rule: The status is success or error

    @long
    Scenario Outline: Of a call of <tool>
      Given a tool runner
      And a call of <tool>
      When the agent makes the call
      Then the answer has success or error as its status

      Examples:
        | tool              |
        | echo              |
        | calculator        |
        | random            |
        | timer             |
        | breadcrumb-create |
        | breadcrumb-update |
        | breadcrumb-search |
        | workflow          |

    Scenario Outline: After a failure: <failure>
      Given a tool runner
      And a call with <failure>
      When the agent makes the call
      Then the answer has success or error as its status

      Examples:
        | failure                       |
        | an expression that breaks off |
        | no expression                 |
        | a word for seconds            |
        | an update of nothing          |
        | a tool that nobody has        |

    @cap:tool.extra
    Scenario: Of further tools
      Given a tool runner
      And calls of all further tools
      When the agent makes the calls one by one
      Then the answer has success or error as its status

  @BRD-52
  Rule: The output of a success is an object

    @long
    Scenario Outline: The output of <tool>
      Given a tool runner
      And a call of <tool>
      When the agent makes the call
      Then the success has an object as its output

      Examples:
        | tool              |
        | echo              |
        | calculator        |
        | random            |
        | timer             |
        | breadcrumb-create |
        | breadcrumb-update |
        | breadcrumb-search |
        | workflow          |

    @cap:tool.extra
    Scenario: The output of further tools
      Given a tool runner
      And calls of all further tools
      When the agent makes the calls one by one
      Then the success has an object as its output

  @BRD-54
  Rule: The error of a failure is a text

    Scenario Outline: <failure>
      Given a tool runner
      And a call with <failure>
      When the agent makes the call
      Then the failure has a text as its error

      Examples:
        | failure                         |
        | an expression that breaks off   |
        | an open bracket                 |
        | words for an expression         |
        | no expression                   |
        | another name for the expression |
        | a word for seconds              |
        | an update of nothing            |
        | a tool that nobody has          |

  @BRD-55
  Rule: A success has no error

    @long
    Scenario Outline: <tool> has none
      Given a tool runner
      And a call of <tool>
      When the agent makes the call
      Then the success has no error

      Examples:
        | tool              |
        | echo              |
        | calculator        |
        | random            |
        | timer             |
        | breadcrumb-create |
        | breadcrumb-update |
        | breadcrumb-search |
        | workflow          |

    @cap:tool.extra
    Scenario: Further tools have none
      Given a tool runner
      And calls of all further tools
      When the agent makes the calls one by one
      Then the success has no error
