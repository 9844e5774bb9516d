@role:utp.registry
Feature: A tool is registered by uploading its definition
  The author of a tool sends its definition as YAML. What keeps the rules of a definition is accepted and can be
  read back.

  @TDG-3.2-01
  Rule: A definition is taken as YAML

    Scenario Outline: A definition <writing>
      Given the definition of a tool
      And the definition is written <writing>
      When the definition is uploaded
      Then the registry accepts it and can give it back

      Examples:
        | writing                        |
        | in block style                 |
        | in flow style                  |
        | with comments                  |
        | with a text over several lines |
        | with texts that are not quoted |
        | with texts in single quotes    |
        | with the line ends of Windows  |

  @TDG-3.2-01
  Rule: A definition may do without a description

    Scenario: A definition without a description
      Given the definition of a tool
      And the definition has no "description"
      When the definition is uploaded
      Then the registry accepts it and can give it back

  @TDG-3.2-02
  Rule: All six members of a definition are understood

    Scenario: A definition with all six members
      Given the definition of a tool
      When the definition is uploaded
      Then the registry has every member of it

  Rule: A tool may suspend its turn, or end it

    Scenario Outline: A tool with the after_execution <value>
      Given the definition of a tool
      And the definition's "after_execution" is <value>
      When the definition is uploaded
      Then the registry accepts it and can give it back

      Examples:
        | rule       | value       |
        | TDG-3.2-03 | "suspend"   |
        | TDG-3.2-04 | "terminate" |

  @TDG-3.2-06
  Rule: A tool may have any subject of the family cmd.tool

    Scenario Outline: A tool with the subject <subject>
      Given the definition of a tool
      And the definition is for the subject "<subject>"
      When the definition is uploaded
      Then the registry accepts it and can give it back

      Examples:
        | subject                     |
        | cmd.tool.<word>.lookup      |
        | cmd.tool.<word>             |
        | cmd.tool.<word>.lookup.fast |
        | cmd.tool.<word>.LookUp-2    |
        | cmd.tool.Tide_<word>.a.b.c  |
        | cmd.tool.system_<word>.get  |
        | cmd.tool.agent.<word>       |

  @TDG-3.2-01
  Rule: A refused definition keeps no good one out

    Scenario: A definition that was refused is mended
      Given the definition of a tool
      And the definition's "after_execution" is "halt"
      When the definition is uploaded
      Given the definition of a tool
      When the definition is uploaded
      Then the registry accepts it and can give it back
