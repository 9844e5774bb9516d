@role:utp.registry
Feature: A registered tool is kept as it was uploaded
  The row of a tool is what workers and Tool Services go by. Templates in it are filled in for each call, not before.

  @UTP-2-01
  Rule: A row belongs to the project that the tool was uploaded to

    Scenario: The project of the path
      Given the definition of a tool
      When the definition is uploaded
      Then the registry files it under the project of the path

    @cap:registry.projects
    Scenario: No other project has it
      Given the definition of a tool
      When the definition is uploaded, and another under its name in another project
      Then the registry shows it in no other project

    @cap:registry.projects
    Scenario: The project of the path, where another project has a tool of the name
      Given the definition of a tool
      When the definition is uploaded, and another under its name in another project
      Then the registry files it under the project of the path

  @UTP-2-02
  Rule: A tool is called what its definition calls it

    Scenario: A plain name
      Given the definition of a tool
      When the definition is uploaded
      Then the row's "tool_name" is as uploaded

    Scenario Outline: A name such as <name>
      Given the definition of a tool
      And the definition is named "<name>"
      When the definition is uploaded between two good ones
      Then the row's "tool_name" is as uploaded

      Examples:
        | name                |
        | TideTable_<unique>  |
        | HighWater_<unique>  |
        | tide.table-<unique> |
        | low.water-<unique>  |

  Rule: What a definition says stays as it is

    Scenario Outline: The <member> of a tool
      Given the definition of a tool
      When the definition is uploaded
      Then the row's "<member>" is as uploaded

      Examples:
        | rule     | member      |
        | UTP-2-03 | description |
        | UTP-2-04 | parameters  |
        | UTP-2-07 | options     |

    Scenario Outline: The <member> of a tool that is uploaded twice
      Given the definition of a tool
      When the definition is uploaded twice
      Then the row's "<member>" is as uploaded

      Examples:
        | rule     | member          |
        | UTP-2-03 | description     |
        | UTP-2-04 | parameters      |
        | UTP-2-05 | target_subject  |
        | UTP-2-06 | after_execution |
        | UTP-2-07 | options         |

    Scenario Outline: The <member> of a tool that is uploaded again after a new version
      Given the definition of a tool
      When the definition is uploaded, then a new version, then the definition again
      Then the row's "<member>" is as uploaded

      Examples:
        | rule     | member          |
        | UTP-2-03 | description     |
        | UTP-2-04 | parameters      |
        | UTP-2-05 | target_subject  |
        | UTP-2-06 | after_execution |
        | UTP-2-07 | options         |

    @cap:registry.projects
    Scenario Outline: The <member> of a tool whose name another project has too
      Given the definition of a tool
      When the definition is uploaded, and another under its name in another project
      Then the row's "<member>" is as uploaded

      Examples:
        | rule     | member          |
        | UTP-2-03 | description     |
        | UTP-2-04 | parameters      |
        | UTP-2-05 | target_subject  |
        | UTP-2-06 | after_execution |
        | UTP-2-07 | options         |

  @UTP-2-04
  Rule: A schema is the same however it is written

    Scenario Outline: A schema <writing>
      Given the definition of a tool
      And the definition is written <writing>
      When the definition is uploaded
      Then the row's "parameters" is as uploaded

      Examples:
        | writing                        |
        | in flow style                  |
        | with comments                  |
        | with a text over several lines |

  @UTP-2-05
  Rule: A subject keeps its placeholders

    Scenario Outline: The subject <subject>
      Given the definition of a tool
      And the definition is for the subject "<subject>"
      When the definition is uploaded
      Then the row's "target_subject" is as uploaded

      Examples:
        | subject                     |
        | cmd.tool.<word>.lookup      |
        | cmd.tool.<word>             |
        | cmd.tool.<word>.lookup.fast |

  @UTP-2-06
  Rule: Each of the two ends of a call is kept

    Scenario Outline: The after_execution <value>
      Given the definition of a tool
      And the definition's "after_execution" is <value>
      When the definition is uploaded
      Then the row's "after_execution" is as uploaded

      Examples:
        | value       |
        | "suspend"   |
        | "terminate" |
