@role:toolbus.server
Feature: A tool is called by MCP tools/call
  `params.name` selects the tool and `params.arguments` is what the tool receives. The example of the
  document with `tool` and `input` is an illustration and no second form of the request.

  @BUS-01 @cap:probe.first-other
  Rule: The tool that is named is the tool that runs

    Scenario: Two names run two tools
      Given an MCP server
      And a call of the echo probe
      And the client has made the call
      And a call of the first other probe
      When the client makes the call
      Then the calls run different tools

  @BUS-02
  Rule: A tool receives the arguments of its call

    Scenario: Two calls with different arguments give different results
      Given an MCP server
      And a call of the echo probe with {"depth": 3, "list": [1, "two", {"three": null}]}
      And the client has made the call
      And a call of the echo probe with {"depth": 4.5, "list": []}
      When the client makes the call
      Then each result is the value of its call

  @BUS-03
  Rule: A request without a name runs nothing

    Scenario: The names of the illustration do not run a tool
      Given an MCP server of its own
      And a call of the echo probe
      When the client sends `tool` and `input` in place of `name` and `arguments`
      Then the call does not succeed
