@role:toolbus.server
@always
@since:2026-07-28
Feature: What MCP asks of every call
  These scenarios send nothing. When all others have ended, they judge every `tools/call` that was answered in any of
  them.

  Rule: Every call is answered as MCP has it

    @MCP-01
    Scenario: Every result says whether it is complete
      Given every call answered by a result of the run
      Then the answer says whether it is complete

    Scenario Outline: Every answer <property>
      Given every answered call of the run
      Then the answer <property>

      Examples:
        | rule   | property                                |
        | MCP-20 | came without a request of the server    |
        | MCP-21 | came without log messages               |
        | MCP-22 | asks only for what the client declared  |

    @MCP-15
    Scenario: Every answer over HTTP names no session
      Given every answered call of the run
      Then the answer names no session

    @MCP-23
    Scenario: Every error has a code that it may have
      Given every failed call of the run
      Then the answer has no code that MCP reserves

    @MCP-24
    Scenario: Every error has a code that MCP does not advise against
      Given every failed call of the run
      Then the answer has no code that MCP advises against

    @MCP-26
    Scenario: Every result names the server that made it
      Given every call answered by a result of the run
      Then the answer names the server that made it
