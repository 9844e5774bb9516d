@role:utp.openapi
@cap:jina.search
Feature: An OpenAPI executor is a Tool Service
  It answers commands as any other Tool Service: the outcome in a tool.result card, a callback that points to it.
  What its tool has to say is what the upstream said.

  @UTP-1-01
  Rule: A tool command is answered with a tool.result card and a callback

    Scenario: A valid command is answered
      Given an OpenAPI executor
      And a command for the search tool
      When the worker sends the command
      Then a callback is reported for the call
      And a tool.result card is written for the call

    Scenario Outline: A command whose header <header> is <value> is answered
      Given an OpenAPI executor
      And a command for the search tool
      And the command's header "<header>" is "<value>"
      When the worker sends the command
      Then a callback is reported for the call
      And a tool.result card is written for the call

      Examples:
        | header             | value                                                   |
        | CG-Recursion-Depth | 0                                                       |
        | CG-Recursion-Depth | 7                                                       |
        | traceparent        | 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00 |
        | tracestate         | vendor=1,other=a:b                                      |

    Scenario Outline: A command whose upstream <does> is answered
      Given an OpenAPI executor
      And a command for the search tool
      And the upstream <does>
      When the worker sends the command
      Then a callback is reported for the call
      And a tool.result card is written for the call

      Examples:
        | does                     |
        | answers with nothing     |
        | answers with half a JSON |
        | breaks off its answer    |

      @cap:jina.timeout
      @holds
      Examples: an answer without an end
        | does                              |
        | stops in the middle of its answer |

  @TDG-3-01
  Rule: A call that completes normally is reported as success

    Scenario: A completed call has status success and no error
      Given an OpenAPI executor
      And a command for the search tool
      When the worker sends the command
      Then the call ends as success
      And the tool.result card has no error

  @TDG-1-02
  Rule: Parameters come from the tool.call card that the command points to

    Scenario: The arguments of the card reach the upstream
      Given an OpenAPI executor
      And a command for the search tool
      When the worker sends the command
      Then the result shows what the upstream says to the card's arguments

    Scenario: A second card with other arguments is what counts
      Given an OpenAPI executor
      And a command for the search tool was answered
      And the next command is for a card of its own
      When the worker sends the command
      Then the result shows what the upstream says to the card's arguments

    # What the upstream says depends on the token, which stands where an address that is not encoded loses it.
    Scenario Outline: What follows "<sign>" in a query reaches the upstream
      Given an OpenAPI executor
      And a command for the search tool
      And the tool.call card's argument "query" is "tide tables <sign> {token}"
      And its row's "/jina/path" is "/tides"
      When the worker sends the command
      Then the result shows what the upstream says to the card's arguments

      Examples:
        | sign |
        | &    |
        | #    |
        | Æ    |

    @cap:jina.reader
    Scenario: The query of a reader's address reaches the upstream
      Given an OpenAPI executor
      And a command for the reader tool
      And the tool.call card's argument "url" is "https://example.org/tides?day=1&port={token}"
      And the command's "after_execution" is "terminate"
      When the worker sends the command
      Then the result shows what the upstream says to the card's arguments

    Scenario Outline: What follows <sign> in a query reaches the upstream
      Given an OpenAPI executor
      And a command for the search tool
      And the tool.call card's argument "query" is "tide tables <sign> {token}"
      And its row's "/jina/path" is "/ebb"
      When the worker sends the command
      Then the result shows what the upstream says to the card's arguments

      Examples:
        | sign |
        | ;    |
        | '    |
        | for every harbour of the northern coast, with the height above chart datum, the time of each high and low water, the moon's phase, and what the pilot book says of the currents off each pier, of the lights that can be seen from the fairway, and of the anchorages behind the outer skerries |

    Scenario Outline: What follows "<sign>" in the query of a POST request reaches the upstream
      Given an OpenAPI executor
      And a command for the search tool
      And its row's "/jina/path" is "/flood"
      And its row's "/jina/method" is "POST"
      And the tool.call card's argument "query" is "tide tables <sign> {token}"
      When the worker sends the command
      Then the result shows what the upstream says to the card's arguments

      Examples:
        | sign |
        | &    |
        | Æ    |

    Scenario Outline: A query with <what> is asked for as it stands in the card
      Given an OpenAPI executor
      And a command for the search tool
      And the tool.call card's argument "query" is "{token} <query>"
      When the worker sends the command
      Then the request asks for the card's "query"

      Examples:
        | what                     | query                               |
        | a plus sign              | a+b                                 |
        | a percent sign           | rain 50%                            |
        | what looks encoded       | 50%25 or %2B                        |
        | letters of other scripts | 潮汐 Ebbe é                           |
        | quotes                   | the {quote}neap{quote} tide's range |
        | signs and capitals       | C++ #1: Ebb & Flow?                 |

    Scenario Outline: A query with <what> is asked for by POST as it stands in the card
      Given an OpenAPI executor
      And a command for the search tool
      And its row's "/jina/method" is "POST"
      And the tool.call card's argument "query" is "{token} <query>"
      When the worker sends the command
      Then the request asks for the card's "query"

      Examples:
        | what                     | query                               |
        | a plus sign              | a+b                                 |
        | what looks encoded       | 50%25 or %2B                        |
        | letters of other scripts | 潮汐 Ebbe é                           |
        | quotes                   | the {quote}neap{quote} tide's range |
        | signs and capitals       | C++ #1: Ebb & Flow?                 |

    @cap:jina.reader
    Scenario Outline: A reader asks for <address> as it stands in the card
      Given an OpenAPI executor
      And a command for the reader tool
      And the tool.call card's argument "url" is "https://example.org/{token}/<address>"
      When the worker sends the command
      Then the request asks for the card's "url"

      Examples:
        | address                    |
        | Tide%20Tables/?q=1%2B2&p=x |
        | tides?from=100%25&to=a%26b |

    Scenario: A result that the upstream sends in chunks is stored
      Given an OpenAPI executor
      And a command for the search tool
      And the upstream answers in chunks
      When the worker sends the command
      Then the result shows what the upstream says to the card's arguments

  @TDG-2-01
  Rule: The service is reached in every project that its subject names

    Scenario: A second project is served like the first
      Given an OpenAPI executor
      And another project with the suffix "-other"
      And a command for the search tool
      When the worker sends the command
      Then the call is answered
      And the result shows what the upstream says to the card's arguments

  @TDG-2-02
  Rule: The service is reached in every channel that its subject names

    Scenario Outline: Channel "<channel>" is served
      Given an OpenAPI executor
      And a command for the search tool
      And the command goes to channel "<channel>"
      When the worker sends the command
      Then the call is answered
      And the result shows what the upstream says to the card's arguments

      Examples:
        | channel |
        | public  |
        | ch_7    |

  @TDG-2-03
  Rule: The service listens where its registration says, and nowhere else

    Scenario: A command on the registered subject is answered
      Given an OpenAPI executor
      And a command for the search tool
      When the worker sends the command
      Then the call is answered

    @absence
    Scenario: A command on the subject of another tool is left alone
      Given a live OpenAPI executor
      And a command for the search tool
      And the command goes to the subject of another tool
      When the worker sends the command
      Then the tool does not run

  @TDG-3-04
  Rule: The answer stays in the command's project and channel

    Scenario: A command in a channel of its own is reported there
      Given an OpenAPI executor
      And a command for the search tool
      And the command goes to channel "ch_7"
      When the worker sends the command
      Then the answer stays in channel "ch_7"

  @TDG-1-01
  Rule: Running a tool writes nothing to the state tables

    Scenario: A successful call leaves state alone
      Given a live OpenAPI executor
      And a command for the search tool
      When the worker sends the command
      Then the call is answered
      And nothing is written to state

    @absence
    Scenario: A repeated call leaves state alone
      Given a live OpenAPI executor
      And a command for the search tool
      When the worker sends the command twice in a row
      Then nothing is written to state

    @absence
    Scenario: An invalid command leaves state alone
      Given a live OpenAPI executor
      And a command for the search tool
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      Then nothing is written to state

  @TDG-3-02
  Rule: A call that the upstream does not answer with a result ends as a failure

    Scenario Outline: A search whose upstream <does> is no success
      Given an OpenAPI executor
      And a command for the search tool
      And the upstream <does>
      When the worker sends the command
      Then the call is answered, and not as a success

      Examples:
        | does                                              |
        | answers with status 429                           |
        | answers with status 500                           |
        | answers with status 502                           |
        | redirects with status 302 to {upstream}/{landing} |
        | closes the connection                             |
        | answers with status 400                           |
        | answers with status 402                           |
        | answers with status 404                           |
        | answers with status 422                           |
        | answers with status 503                           |
        | answers with status 504                           |
        | answers with status 405                           |
        | answers with status 410                           |
        | answers with status 501                           |

    Scenario Outline: A search by POST whose upstream <does> is no success
      Given an OpenAPI executor
      And a command for the search tool
      And its row's "/jina/method" is "POST"
      And the upstream <does>
      When the worker sends the command
      Then the call is answered, and not as a success

      Examples:
        | does                                              |
        | answers with status 401                           |
        | answers with status 404                           |
        | answers with status 422                           |
        | answers with status 429                           |
        | answers with status 500                           |
        | redirects with status 302 to {upstream}/{landing} |
        | closes the connection                             |

    @cap:jina.reader
    Scenario Outline: A reader whose upstream <does> is no success
      Given an OpenAPI executor
      And a command for the reader tool
      And the upstream <does>
      When the worker sends the command
      Then the call is answered, and not as a success

      Examples:
        | does                                              |
        | answers with status 400                           |
        | answers with status 404                           |
        | answers with status 422                           |
        | answers with status 429                           |
        | answers with status 451                           |
        | answers with status 500                           |
        | redirects with status 302 to {upstream}/{landing} |
        | closes the connection                             |
