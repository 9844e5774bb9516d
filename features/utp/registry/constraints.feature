@role:utp.registry
Feature: A definition that breaks a constraint is refused
  External tools have few constraints, and the registry is the one place where all of them can be checked. That it
  refuses a definition counts where it takes good ones before and after it.

  @TDG-3.2-05
  Rule: A tool ends its call in one of two ways

    Scenario Outline: The after_execution <value>
      Given the definition of a tool
      And the definition's "after_execution" is <value>
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

      Examples:
        | value         |
        | "pause"       |
        | "continue"    |
        | ""            |
        | null          |
        | 1             |
        | true          |
        | ["terminate"] |
        | "end"         |
        | "suspended"   |
        | "terminated"  |
        | {}            |
        | false         |
        | []            |
        | 0             |
        | "none"        |
        | "suspend\|terminate" |

    Scenario: No after_execution
      Given the definition of a tool
      And the definition has no "after_execution"
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

    # What is refused at once may be stored from a queue.
    @long
    Scenario: A definition that is refused is not stored later
      Given the definition of a tool
      And the definition's "after_execution" is "pause"
      When the definition is uploaded between two good ones, and looked at later
      Then the registry rejects it and stores nothing

    Scenario: A definition that is refused is refused again
      Given the definition of a tool
      And the definition's "after_execution" is "resume"
      When the definition is uploaded three times between two good ones
      Then the registry rejects it and stores nothing

    Scenario Outline: Another spelling of one of the two, <value>
      Given the definition of a tool
      And the definition's "after_execution" is <value>
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

      Examples:
        | value         |
        | "Suspend"     |
        | "TERMINATE"   |
        | " terminate " |
        | "suspend\\n"  |
        | " suspend"    |
        | "terminate "  |

  Rule: A tool's subject is of the family cmd.tool

    Scenario Outline: The subject <subject>
      Given the definition of a tool
      And the definition is for the subject "<subject>"
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

      Examples: subjects of the system
        | rule       | subject                     |
        | TDG-3.2-07 | cmd.sys.pmo.internal.<word> |
        | TDG-3.2-07 | cmd.sys.ui.action           |
        | TDG-3.2-07 | cmd.sys.tool.<word>.lookup  |

      Examples: other families
        | rule       | subject                     |
        | TDG-3.2-08 | cmd.agent.<word>.wakeup     |
        | TDG-3.2-08 | cmd.toolbox.<word>.lookup   |
        | TDG-3.2-08 | CMD.TOOL.<word>.lookup      |
        | TDG-3.2-08 | evt.tool.<word>.done        |
        | TDG-3.2-08 | evt.agent.<word>.task       |
        | TDG-3.2-08 | cmd.agent.tool.<word>       |
        | TDG-3.2-08 | evt.cmd.tool.<word>         |
        | TDG-3.2-08 | cmd.tool                    |

    @TDG-3.2-08
    Scenario: No subject
      Given the definition of a tool
      And the definition has no "target_subject"
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

    @TDG-3.2-08
    Scenario Outline: A subject that is <value>
      Given the definition of a tool
      And the definition's "target_subject" is <value>
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

      Examples:
        | value    |
        | ""       |
        | null     |
        | 7        |
        | true     |
        | ["tool"] |
        | {}       |

    @TDG-3.2-08
    Scenario: A subject of the family str.tool
      Given the definition of a tool
      And the definition is for the subject "str.tool.<word>.chunk"
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

  Rule: The names of the PMO's own tools are taken

    Scenario Outline: An external tool named <name>
      Given the definition of a tool
      And the definition is named "<name>"
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

      Examples:
        | rule       | name             |
        | TDG-3.2-09 | delegate_async   |
        | TDG-3.2-10 | launch_principal |
        | TDG-3.2-11 | ask_expert       |
        | TDG-3.2-12 | fork_join        |
        | TDG-3.2-13 | provision_agent  |

    Scenario Outline: An external tool named <name> that ends the turn
      Given the definition of a tool
      And the definition is named "<name>"
      And the definition's "after_execution" is "terminate"
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

      Examples:
        | rule       | name             |
        | TDG-3.2-09 | delegate_async   |
        | TDG-3.2-10 | launch_principal |
        | TDG-3.2-11 | ask_expert       |
        | TDG-3.2-12 | fork_join        |
        | TDG-3.2-13 | provision_agent  |

    # What is refused at once may be stored from a queue.
    @TDG-3.2-11 @long
    Scenario: An external tool named ask_expert is not stored later
      Given the definition of a tool
      And the definition is named "ask_expert"
      When the definition is uploaded between two good ones, and looked at later
      Then the registry rejects it and stores nothing

    Scenario Outline: An external tool named <name> is refused a third time as well
      Given the definition of a tool
      And the definition is named "<name>"
      When the definition is uploaded three times between two good ones
      Then the registry rejects it and stores nothing

      Examples:
        | rule       | name             |
        | TDG-3.2-09 | delegate_async   |
        | TDG-3.2-10 | launch_principal |
        | TDG-3.2-11 | ask_expert       |
        | TDG-3.2-12 | fork_join        |
        | TDG-3.2-13 | provision_agent  |

  @TDG-3.2-14
  Rule: A refused definition leaves the tool as it was

    Scenario Outline: A new version with the <member> <value>
      Given a new version of a registered tool
      And the definition's "<member>" is <value>
      When the definition is uploaded between two good ones
      Then the registry keeps the old version

      Examples:
        | member          | value         |
        | after_execution | "pause"       |
        | after_execution | "continue"    |
        | after_execution | ""            |
        | after_execution | null          |
        | after_execution | 1             |
        | after_execution | true          |
        | after_execution | ["terminate"] |
        | target_subject  | ""            |
        | target_subject  | null          |

    Scenario Outline: A new version without <member>
      Given a new version of a registered tool
      And the definition has no "<member>"
      When the definition is uploaded between two good ones
      Then the registry keeps the old version

      Examples:
        | member          |
        | after_execution |
        | target_subject  |

    Scenario Outline: A new version with the subject <subject>
      Given a new version of a registered tool
      And the definition is for the subject "<subject>"
      When the definition is uploaded between two good ones
      Then the registry keeps the old version

      Examples:
        | subject                     |
        | cmd.sys.pmo.internal.<word> |
        | cmd.sys.ui.action           |
        | cmd.sys.tool.<word>.lookup  |
        | cmd.agent.<word>.wakeup     |
        | cmd.toolbox.<word>.lookup   |
        | CMD.TOOL.<word>.lookup      |
        | evt.tool.<word>.done        |
        | evt.agent.<word>.task       |

  @TDG-3.2-05
  Rule: Nothing in the options stands for the after_execution

    Scenario Outline: No after_execution, and options such as <options>
      Given the definition of a tool
      And the definition's "options" is <options>
      And the definition has no "after_execution"
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

      Examples:
        | options                         |
        | {"suspend_timeout_seconds": 60} |
        | {"after_execution": "suspend"}  |
        | {}                              |

  @TDG-3.2-08
  Rule: A subject's family is what follows its channel

    Scenario Outline: The subject <subject>, with a whole one in it
      Given the definition of a tool
      And the definition is for the subject "<subject>"
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

      Examples:
        | subject                                                      |
        | evt.cg.v1r3.project.public.cmd.tool.<word>.lookup            |
        | cmd.agent.cg.v1r4.{project_id}.{channel_id}.cmd.tool.<word>  |

  Rule: A definition that leaves something out is checked like every other

    @TDG-3.2-05
    Scenario: An unknown after_execution of a tool without parameters and options
      Given the definition of a tool
      And the definition's "parameters" is {}
      And the definition's "options" is {}
      And the definition's "after_execution" is "pause"
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

    Scenario Outline: The subject <subject> of a tool without parameters and options
      Given the definition of a tool
      And the definition's "parameters" is {}
      And the definition's "options" is {}
      And the definition is for the subject "<subject>"
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

      Examples:
        | rule       | subject                     |
        | TDG-3.2-07 | cmd.sys.pmo.internal.<word> |
        | TDG-3.2-08 | cmd.agent.<word>.wakeup     |

    Scenario Outline: An external tool named <name> without parameters and options
      Given the definition of a tool
      And the definition's "parameters" is {}
      And the definition's "options" is {}
      And the definition is named "<name>"
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

      Examples:
        | rule       | name             |
        | TDG-3.2-09 | delegate_async   |
        | TDG-3.2-10 | launch_principal |
        | TDG-3.2-11 | ask_expert       |
        | TDG-3.2-12 | fork_join        |
        | TDG-3.2-13 | provision_agent  |

    @TDG-3.2-05
    Scenario: An unknown after_execution of a tool without a description
      Given the definition of a tool
      And the definition has no "description"
      And the definition's "after_execution" is "pause"
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

    Scenario Outline: The subject <subject> of a tool without a description
      Given the definition of a tool
      And the definition has no "description"
      And the definition is for the subject "<subject>"
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

      Examples:
        | rule       | subject                     |
        | TDG-3.2-07 | cmd.sys.pmo.internal.<word> |
        | TDG-3.2-08 | cmd.agent.<word>.wakeup     |

    Scenario Outline: An external tool named <name> without a description
      Given the definition of a tool
      And the definition has no "description"
      And the definition is named "<name>"
      When the definition is uploaded between two good ones
      Then the registry rejects it and stores nothing

      Examples:
        | rule       | name             |
        | TDG-3.2-09 | delegate_async   |
        | TDG-3.2-10 | launch_principal |
        | TDG-3.2-11 | ask_expert       |
        | TDG-3.2-12 | fork_join        |
        | TDG-3.2-13 | provision_agent  |
