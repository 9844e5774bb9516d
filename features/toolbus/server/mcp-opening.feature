@role:toolbus.server
@until:2025-11-25
Feature: A session begins with a revision that MCP has
  In the revisions of MCP that have sessions, a client says in its first request which revision it speaks, and the server
  answers with that one, or with another that it has.

  @MCP-28
  Rule: The server agrees to a revision that MCP has

    Scenario Outline: A client that asks for <revision> over <transport>
      Given an MCP server over <transport> that was asked nothing yet
      And a request of "initialize"
      And it is in the revision "<revision>"
      When the client sends the request
      Then the answer agrees to a revision of MCP

      @cap:stdio
      Examples:
        | transport                 | revision   |
        | standard input and output | 2025-06-18 |
        | standard input and output | 1999-12-31 |
        | standard input and output | banana     |
        | standard input and output | 2025-07-01 |
        | standard input and output | latest     |

      @cap:http
      Examples:
        | transport | revision   |
        | HTTP      | 2025-06-18 |
        | HTTP      | 1999-12-31 |
        | HTTP      | banana     |
        | HTTP      | 2025-07-01 |
        | HTTP      | latest     |
