@role:breadcrumb.workflow
@always
@cap:tool.workflow
Feature: What holds in every answer of a workflow
  These scenarios send nothing. When all others have ended, they judge every workflow that was run in any of them: those
  of which nothing is bound to fail, and of all of them that they are answered once.

  Rule: Every workflow that succeeds brings what its steps bring

    Scenario Outline: Every sound workflow <property>
      Given every answered call of the run
      Then the workflow <property>

      Examples:
        | rule    | property                               |
        | BRD-92  | lists its results by step              |
        | BRD-93  | brings the outputs of the tools        |
        | BRD-98  | names each step once in its order      |
        | BRD-99  | lists every step after its dependencies |
        | BRD-101 | has no errors                          |

    @BRD-90
    Scenario: Every workflow of sound and independent steps is taken
      Given every answered call of the run
      And it is of a workflow whose steps are sound and independent
      Then the call succeeds

    @BRD-103
    Scenario: Every workflow is answered once
      Given every answered call of the run
      Then the workflow is answered once
