@role:utp.schema
@cap:capture.tool
Feature: A resource.tools row has its seven fields
  The row is what a tool is known by. Its subject keeps the placeholders; they are filled in for each call.

  Rule: A row carries every field

    Scenario Outline: Every captured row carries "<field>"
      Given captured messages
      When the tool rows are examined
      Then every row carries "<field>"

      Examples:
        | rule     | field           |
        | UTP-2-01 | project_id      |
        | UTP-2-02 | tool_name       |
        | UTP-2-03 | description     |
        | UTP-2-04 | parameters      |
        | UTP-2-05 | target_subject  |
        | UTP-2-06 | after_execution |
        | UTP-2-07 | options         |

  @UTP-2-01
  Rule: A row belongs to the project that it is kept in

    Scenario: Every captured row names its own project
      Given captured messages
      When the tool rows are examined
      Then every row belongs to its project

  @UTP-2-05
  Rule: A row's subject is kept unexpanded

    Scenario: Every captured row has its placeholders
      Given captured messages
      When the tool rows are examined
      Then every row's subject is unexpanded
