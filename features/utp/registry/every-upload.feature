@role:utp.registry
@always
Feature: What holds in every upload of a definition
  These scenarios send nothing. When all others have ended, they judge every upload that was answered in any of them:
  the one that a scenario is about, and the good ones around a bad one.

  Rule: Every sound definition is accepted, and can be read back

    @TDG-3.2-01
    Scenario: Every usual definition is accepted
      Given every usual definition that was uploaded
      Then the registry accepts it and can give it back

    @TDG-3.2-02
    Scenario: All six members of every sound definition are understood
      Given every sound definition that was uploaded
      Then the registry has every member of it

  Rule: Every row is what was uploaded

    @UTP-2-01
    Scenario: Every row is of the project of the path
      Given every sound definition that was uploaded
      Then the registry files it under the project of the path

    Scenario Outline: The "<member>" of every row
      Given every sound definition that was uploaded
      Then the row's "<member>" is as uploaded

      Examples:
        | rule     | member          |
        | UTP-2-02 | tool_name       |
        | UTP-2-03 | description     |
        | UTP-2-04 | parameters      |
        | UTP-2-05 | target_subject  |
        | UTP-2-06 | after_execution |
        | UTP-2-07 | options         |

  Rule: No definition that breaks a constraint is accepted

    Scenario Outline: Every definition whose fault is <fault>
      Given every faulty definition that was uploaded
      And its fault is <fault>
      Then the registry does not accept it

      Examples:
        | rule       | fault                   |
        | TDG-3.2-05 | the after_execution     |
        | TDG-3.2-07 | a subject of the system |
        | TDG-3.2-08 | a subject of no tool    |
