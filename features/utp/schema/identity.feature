@role:utp.schema
@since:v1r4
Feature: UTP messages carry their identity in headers
  In v1r4 a message says in its headers whose turn and which call it is about. Its payload is business alone, and its
  subject has the version of the revision.

  @R4-01
  @cap:capture.command
  Rule: Subjects carry the version of the revision

    Scenario: Every captured command is on a subject of the revision
      Given captured messages
      When the tool commands are examined
      Then every subject has the version of the revision

  @R4-07
  Rule: A callback holds business members alone

    Scenario: No captured callback has a control member
      Given captured messages
      When the callbacks are examined
      Then no callback has a control member

    Scenario Outline: Every captured callback carries "<member>"
      Given captured messages
      When the callbacks are examined
      Then every callback carries "<member>"

      Examples:
        | member              |
        | status              |
        | after_execution     |
        | tool_result_card_id |

  @R4-08
  Rule: A report is addressed with the identity of its command

    Scenario Outline: Every captured report names "<member>" in a header
      Given captured messages
      When the callbacks are examined
      Then every callback names "<member>" in a header, as its command does

      Examples:
        | member        |
        | agent_id      |
        | agent_turn_id |
        | turn_epoch    |
        | tool_call_id  |
        | step_id       |

  @R4-11
  @cap:capture.command
  Rule: A command names whose call it is in headers

    Scenario Outline: Every captured command names "<member>" in a header
      Given captured messages
      When the tool commands are examined
      Then every command names "<member>" in a header

      Examples:
        | member          |
        | project_id      |
        | channel_id      |
        | agent_id        |
        | agent_turn_id   |
        | turn_epoch      |
        | step_id         |
        | tool_call_id    |
        | recursion_depth |

    Scenario Outline: Every captured command names the "<member>" of its subject
      Given captured messages
      When the tool commands are examined
      Then every command names "<member>" in a header, as its subject does

      Examples:
        | member     |
        | project_id |
        | channel_id |

  @R4-12
  @cap:capture.command
  Rule: The payload of a command has no control member

    Scenario: No captured command has a control member
      Given captured messages
      When the tool commands are examined
      Then no command has a control member
