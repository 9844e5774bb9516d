@role:toolbus.artifacts
@always
@cap:root
Feature: What holds for the artifacts of every call
  These scenarios send nothing. When all others have ended, they judge every call that succeeded in any of them and
  whose artifacts were read: of every probe, with small results and with large ones.

  Rule: Every call stores both artifacts, where its ids say

    # The envelope need not say where the text artifact is, so it is found by the span that the call was given.
    @BUS-52
    Scenario: Every call with a span leaves a text artifact
      Given every stored call of the run
      And its arguments hold "span_id"
      Then the call leaves a text artifact

    @BUS-53
    Scenario: Every call leaves a JSON artifact
      Given every stored call of the run
      Then the call leaves a JSON artifact

    Scenario Outline: Every <form> artifact has the contract's uri form
      Given every stored call of the run
      Then the <form> artifact lies where its ids say

      Examples:
        | rule   | form |
        | BUS-56 | text |
        | BUS-57 | JSON |

  Rule: Every artifact can be read by those it is for

    @BUS-58
    Scenario: Every text artifact is text
      Given every stored call of the run
      Then the text artifact can be read by a person

    @BUS-59
    Scenario: Every JSON artifact is one document
      Given every stored call of the run
      Then the JSON artifact is one JSON document

  Rule: No artifact holds a secret that its call was given

    Scenario Outline: No <form> artifact holds a secret
      Given every stored call of the run
      And it asks for the whole result
      Then the <form> artifact holds no secret of the call's arguments

      Examples:
        | rule   | form |
        | BUS-64 | text |
        | BUS-65 | JSON |

    @BUS-66
    Scenario: No shaped result holds a secret
      Given every stored call of the run
      And it asks for a shaped result
      Then neither the response nor an artifact holds a secret

  Rule: Every JSON artifact is of its call, and is where its uri says

    @BUS-53
    Scenario: Every JSON artifact is of its call
      Given every stored call of the run
      Then the JSON artifact is of the call

    @BUS-57
    Scenario: Every uri of a JSON artifact has the contract's form
      Given every stored call of the run
      And its arguments hold "trace_id"
      And its arguments hold "span_id"
      Then its uri has the contract's form
