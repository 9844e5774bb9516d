@role:breadcrumb.runner
Feature: Which tool a runner executes
  The catalog lists the tools by name, and a request names one of them.

  @BRD-16
  Rule: The tool that is named is the one that runs

    @long
    Scenario Outline: <tool>
      Given a tool runner
      And a call of <tool>
      When the agent makes the call
      Then the answer shows the work of the tool that was named

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
    Scenario: Further tools
      Given a tool runner
      And calls of all further tools
      When the agent makes the calls one by one
      Then the answers show the work of the tool that was named

    Scenario: Two tools in turn
      Given a tool runner
      And a call of calculator
      And a call of random
      And a call of calculator
      When the agent makes the calls one by one
      Then the answers show the work of the tool that was named

  @BRD-17
  Rule: Names are compared with regard to case

    Scenario Outline: <name>
      Given a tool runner
      And a call of <tool>
      And its tool is "<name>"
      When the agent makes the call
      Then the call ends in an error

      Examples:
        | tool              | name              |
        | calculator        | Calculator        |
        | calculator        | CALCULATOR        |
        | calculator        | calculatoR        |
        | echo              | Echo              |
        | echo              | ECHO              |
        | random            | Random            |
        | breadcrumb-create | Breadcrumb-Create |
        | breadcrumb-search | BREADCRUMB-SEARCH |
        | timer             | Timer             |
        | breadcrumb-update | BREADCRUMB-UPDATE |
        | workflow          | Workflow          |

  @BRD-18
  Rule: A tool that is not in the catalog is answered with an error

    Scenario: Nobody has it
      Given a tool runner
      And a call with a tool that nobody has
      When the agent makes the call
      Then the call ends in an error

    Scenario Outline: "<name>" is not <tool>
      Given a tool runner
      And a call of <tool>
      And its tool is "<name>"
      When the agent makes the call
      Then the call ends in an error

      Examples:
        | tool              | name              |
        | echo              | echoes            |
        | echo              | ech               |
        | echo              | echo-2            |
        | calculator        | calculator.v1     |
        | calculator        | tools/calculator  |
        | calculator        | calc              |
        | breadcrumb-create | breadcrumb_create |
        | breadcrumb-create | breadcrumbcreate  |

      Examples: Names that languages have everywhere
        | tool | name        |
        | echo | constructor |
        | echo | toString    |
        | echo | __proto__   |

      Examples: The name with something ahead of it
        | tool       | name                 |
        | calculator | functions.calculator |

    Scenario: A blank stands behind the name
      Given a tool runner
      And a call of echo
      And its tool is "echo "
      When the agent makes the call
      Then the call ends in an error

    Scenario: A blank stands ahead of the name
      Given a tool runner
      And a call of calculator
      And its tool is " calculator"
      When the agent makes the call
      Then the call ends in an error

    Scenario Outline: "<name>" is a name of its own, and none of <tool>
      Given a tool runner
      And a call of <tool>
      And its tool is "<name>"
      When the agent makes the call
      Then the call ends in an error

      Examples: The name with something around it
        | tool       | name                  |
        | calculator | ./calculator          |
        | calculator | default_api:calculator |
        | calculator | mcp__math__calculator |
        | calculator | calculator@1          |
        | calculator | calculator-tool       |
        | echo       | echo.py               |

      Examples: The name in another spelling
        | tool              | name              |
        | breadcrumb-search | breadcrumbSearch  |
        | breadcrumb-create | breadcrumb.create |
        | breadcrumb-create | breadcrumb create |

      Examples: A pattern that fits the name
        | tool | name |
        | echo | ech* |

      Examples: Names that languages have everywhere
        | tool | name      |
        | echo | __class__ |
        | echo | valueOf   |

  @BRD-19 @last
  Rule: A request without a tool is not executed, and the next one is served

    Scenario: There is no tool
      Given a tool runner
      And a call
      And it has no tool
      When the agent makes the odd call between two harmless ones
      Then it is not executed
      And the runner goes on serving

    Scenario Outline: tool is <value>
      Given a tool runner
      And a call
      And its tool is <value>
      When the agent makes the odd call between two harmless ones
      Then it is not executed
      And the runner goes on serving

      Examples:
        | value    |
        | null     |
        | ""       |
        | 17       |
        | ["echo"] |
        | {"name": "echo"} |

    Scenario: The tool stands in another member
      Given a tool runner
      And a call
      And it has no tool
      And its name is "echo"
      When the agent makes the odd call between two harmless ones
      Then it is not executed
      And the runner goes on serving
