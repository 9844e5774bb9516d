@role:breadcrumb.tools
@always
Feature: What holds in every answer of a tool
  These scenarios send nothing. When all others have ended, they judge the answer to every call that was made in any of
  them: of every tool, whatever the scenario wanted of it.

  @BRD-53
  Rule: Every output has the members of its schema

    Scenario: The output of every success
      Given every answered call of the run
      Then the output has the members of its schema

  Rule: Every failure has the form of the standard

    @BRD-79
    Scenario: The form of every failure
      Given every answered call of the run
      Then the failure has the form of the standard

    @BRD-80
    Scenario: The error of every failure
      Given every answered call of the run
      Then a person can read the error

  @cap:tool.language_model
  Rule: Every answer of a language model's tool brings the reply with what it took

    Scenario Outline: Every output <property>
      Given every answered call of the run
      Then the output <property>

      Examples:
        | rule   | property                   |
        | BRD-59 | has the text of the reply  |
        | BRD-60 | names the model            |
        | BRD-61 | has the number of tokens   |
        | BRD-62 | has a cost that is an amount |
        | BRD-63 | has a cost                 |

    @BRD-85
    Scenario: Every conversation is handed on
      Given every answered call of the run
      Then the model gets all messages in their order

  Rule: Every utility tool does what its name says

    @BRD-65 @cap:tool.random
    Scenario: Every output of random
      Given every answered call of the run
      Then the output has a number

    @BRD-66 @cap:tool.echo
    Scenario: Every output of echo
      Given every answered call of the run
      Then the output is the message

    @BRD-67 @cap:tool.timer
    Scenario: Every output of timer
      Given every answered call of the run
      Then the output says how long it waited

    @BRD-68 @cap:tool.timer
    Scenario: The time of every answer of timer
      Given every answered call of the run
      Then the output comes when the time is over

  Rule: Every breadcrumb tool says what it did

    @BRD-70
    Scenario: Every new or changed breadcrumb is a success
      Given every answered call of the run
      Then the output is a success

    @BRD-71 @cap:tool.breadcrumb-update
    Scenario: Every change gives a higher version
      Given every answered call of the run
      Then the output has the version of the store

    @BRD-72 @cap:tool.breadcrumb-search
    Scenario: Every search gives a list
      Given every answered call of the run
      Then the output has all that was stored

    @BRD-73 @cap:tool.breadcrumb-search
    Scenario: Every search counts its results
      Given every answered call of the run
      Then the output counts its results

  @cap:tool.astral
  Rule: Every answer of the browser is about the page

    Scenario Outline: Every output <property>
      Given every answered call of the run
      Then the output <property>

      Examples:
        | rule   | property                 |
        | BRD-74 | is the page              |
        | BRD-75 | has the text of the page |
        | BRD-76 | says that it clicked     |
        | BRD-77 | names the file of an image |
