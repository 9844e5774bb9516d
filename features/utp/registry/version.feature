@role:utp.registry
@since:v1r4
Feature: A tool is registered for a version that is served
  Commands go where the row of a tool says. A subject of a version that nobody serves is a dead end, and the registry is
  where that can be noticed.

  @R4-19
  Rule: No tool is registered for a version that the platform does not serve

    Scenario Outline: A tool for the version <version>
      Given the definition of a tool
      And the definition's "target_subject" is "cg.<version>.{project_id}.{channel_id}.cmd.tool.tides.lookup"
      When the definition is uploaded between two good ones
      Then the registry rejects it, or stores it with a version that is served

      Examples:
        | version |
        | v1r2    |
        | v1r5    |
        | v2      |
        | V1R4    |
        | v1      |
        | v1r4-2  |

    Scenario: A tool that ends its turn
      Given the definition of a tool
      And the definition's "after_execution" is "terminate"
      And the definition's "target_subject" is "cg.v1r2.{project_id}.{channel_id}.cmd.tool.tides.lookup"
      When the definition is uploaded between two good ones
      Then the registry rejects it, or stores it with a version that is served

    Scenario: A tool for a version that begins like one that is served
      Given the definition of a tool
      And the definition's "target_subject" is "cg.v1r40.{project_id}.{channel_id}.cmd.tool.tides.lookup"
      When the definition is uploaded between two good ones
      Then the registry rejects it, or stores it with a version that is served

    Scenario: A new version of a tool for a version of long ago
      Given a new version of a registered tool
      And the definition's "target_subject" is "cg.v1r2.{project_id}.{channel_id}.cmd.tool.tides.lookup"
      When the definition is uploaded between two good ones
      Then the registry rejects it, or stores it with a version that is served

    Scenario Outline: A tool with the subject <subject> for a version of long ago
      Given the definition of a tool
      And the definition's "target_subject" is "cg.v1r2.{project_id}.{channel_id}.<subject>"
      When the definition is uploaded between two good ones
      Then the registry rejects it, or stores it with a version that is served

      Examples:
        | subject              |
        | cmd.tool.tides       |
        | cmd.tool.tides.a.b.c |
