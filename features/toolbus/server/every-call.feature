@role:toolbus.server
@always
Feature: What holds in every call of a tool
  These scenarios send nothing. When all others have ended, they judge every `tools/call` that was answered in any of
  them: of every probe, shaped or stored or neither, in each mode, and those that only prepared something.

  Rule: Every success has the envelope

    Scenario Outline: Every success <property>
      Given every successful call of the run
      Then the response <property>

      Examples:
        | rule   | property              |
        | BUS-39 | has one content block |
        | BUS-40 | is a text block       |
        | BUS-41 | is strict JSON        |
        | BUS-42 | names the tool        |
        | BUS-43 | has its action        |
        | BUS-44 | has its trace         |
        | BUS-46 | has the stable keys   |

  Rule: Every correlation id comes back

    Scenario Outline: Every "<argument>" comes back
      Given every successful call of the run
      And its arguments hold "<argument>"
      Then the trace has the call's "<argument>"

      Examples:
        | rule   | argument       |
        | BUS-07 | trace_id       |
        | BUS-08 | span_id        |
        | BUS-09 | parent_span_id |

  Rule: Every failure is an MCP error that says something

    @BUS-69
    Scenario: Every failure is an MCP error
      Given every failed call of the run
      Then the call is answered by an MCP error

    @BUS-72
    Scenario: Every failure has a message
      Given every failed call of the run
      Then the error has a message

  Rule: What a call asks for changes nothing of this

    @BUS-10
    Scenario: Every success without correlation ids has a trace
      Given every successful call of the run
      And it asks for no correlation ids
      Then the response has its trace

    Scenario Outline: Every success whose result is shaped <property>
      Given every successful call of the run
      And it asks for a shaped result
      Then the response <property>

      Examples:
        | rule   | property       |
        | BUS-19 | names the tool |
        | BUS-19 | has its action |
        | BUS-19 | has its trace  |

    Scenario Outline: Every success that asks for <mode> is strict JSON
      Given every successful call of the run
      And it asks for <mode>
      Then the response is strict JSON

      Examples:
        | rule   | mode             |
        | BUS-33 | the mode ai      |
        | BUS-34 | the mode compact |
        | BUS-35 | no mode          |

  Rule: Every answer is one response of JSON-RPC

    @BUS-69
    Scenario: Every answer has one outcome
      Given every answered call of the run
      Then it has a result or an error, and not both
