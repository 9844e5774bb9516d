@role:breadcrumb.runner
@always
Feature: What holds in every answer of a runner
  These scenarios send nothing. When all others have ended, they judge the answer to every call in the form of the
  standard that was made in any of them: alone and beside others, for the agent and for the user, of a success and of a
  failure.

  Rule: Every answer has the form of an answer

    Scenario Outline: Every answer <property>
      Given every answered call of the run
      Then the answer <property>

      Examples:
        | rule   | property                                   |
        | BRD-47 | is a breadcrumb of schema tool.response.v1 |
        | BRD-48 | has its members in its context             |
        | BRD-49 | spells its id request_id                   |
        | BRD-30 | repeats the id of the request              |
        | BRD-50 | repeats the name of the tool               |
        | BRD-51 | has success or error as its status         |

  Rule: Every answer has what its status asks for

    @BRD-52
    Scenario: The output of every success is an object
      Given every answered call of the run
      Then the success has an object as its output

    @BRD-55
    Scenario: No success has an error
      Given every answered call of the run
      Then the success has no error

    @BRD-54
    Scenario: The error of every failure is a text
      Given every answered call of the run
      Then the failure has a text as its error

  Rule: Every call is answered once

    @BRD-57
    Scenario: No call is answered twice
      Given every answered call of the run
      Then none is answered twice
