@role:toolbus.artifacts
Feature: Every call leaves its artifacts
  With a context root configured, each call writes a text artifact for people and a JSON artifact for
  machines below it. They stay where they are.

  Rule: Each call stores both artifacts

    Scenario Outline: The <probe> probe leaves a <form> artifact
      Given an MCP server
      And a call of the <probe> probe
      And its correlation ids
      When the client makes the call
      Then the call leaves a <form> artifact

      @cap:root
      Examples:
        | rule   | probe | form |
        | BUS-52 | echo  | text |
        | BUS-53 | echo  | JSON |

      @cap:root @cap:probe.first-other
      Examples: another tool
        | rule   | probe       | form |
        | BUS-52 | first other | text |
        | BUS-53 | first other | JSON |

      @cap:root @cap:probe.second-other
      Examples: a third tool
        | rule   | probe        | form |
        | BUS-52 | second other | text |
        | BUS-53 | second other | JSON |

      @cap:root @cap:probe.state
      Examples: the state
        | rule   | probe | form |
        | BUS-52 | state | text |
        | BUS-53 | state | JSON |

      @cap:root @cap:probe.partial
      Examples: a result that calls for a follow-up
        | rule   | probe   | form |
        | BUS-52 | partial | text |
        | BUS-53 | partial | JSON |

    @BUS-52
    Scenario Outline: The <probe> probe leaves a text artifact without correlation ids, too
      Given an MCP server
      And a call of the <probe> probe
      When the client makes the call
      Then the call leaves a text artifact

      @cap:root
      Examples:
        | probe |
        | echo  |

      @cap:root @cap:probe.first-other
      Examples: another tool
        | probe       |
        | first other |

      @cap:root @cap:probe.second-other
      Examples: a third tool
        | probe        |
        | second other |

    @BUS-54 @cap:root.second
    Scenario Outline: So it is when the root has its second name: the <form> artifact
      Given an MCP server whose context root is configured under the second name alone
      And a call of the echo probe
      And its correlation ids
      When the client makes the call
      Then the call leaves a <form> artifact

      Examples:
        | form |
        | text |
        | JSON |

    @BUS-68 @cap:root @cap:probe.fail
    Scenario: A call that fails is a call too
      Given an MCP server of its own
      And a call of the fail probe
      And its correlation ids
      When the client makes the call
      Then the failed call leaves artifacts

  @cap:root
  Rule: Artifacts lie below the root, where their ids say

    @BUS-55 @cap:restart
    Scenario: Plain ids stay inside
      Given an MCP server of its own
      And a call of the echo probe
      And its correlation ids
      When the client makes the call
      Then nothing is written outside the context root

    @BUS-55 @cap:restart
    Scenario Outline: <escape> as "<argument>" does not lead outside
      Given an MCP server of its own
      And a call of the echo probe
      And its correlation ids
      And the id "<argument>" is <escape>
      When the client makes the call
      Then nothing is written outside the context root

      Examples:
        | argument | escape                 |
        | trace_id | a climbing path        |
        | span_id  | a climbing path        |
        | trace_id | a path that climbs far |
        | span_id  | a path that climbs far |
        | trace_id | an absolute path       |
        | span_id  | an absolute path       |

    @BUS-55 @cap:restart @cap:probe.fail
    Scenario Outline: Nor does it where the call fails: <escape> as "<argument>"
      Given an MCP server of its own
      And a call of the fail probe
      And its correlation ids
      And the id "<argument>" is <escape>
      When the client makes the call
      Then nothing is written outside the context root

      Examples:
        | argument | escape           |
        | trace_id | a climbing path  |
        | span_id  | a climbing path  |
        | span_id  | an absolute path |

    # Whoever keeps the calls below one another names something by the id of the one above.
    @BUS-55 @cap:restart
    Scenario Outline: Nor does the id of the span above, given with the trace alone: <escape>
      Given an MCP server of its own
      And a call of the echo probe
      And the argument "trace_id" is "tr-04"
      And the id "parent_span_id" is <escape>
      When the client makes the call
      Then nothing is written outside the context root

      Examples:
        | escape           |
        | a climbing path  |
        | an absolute path |

    Scenario Outline: The <form> artifact has the contract's uri form
      Given an MCP server
      And a call of the echo probe
      And its correlation ids
      When the client makes the call
      Then the <form> artifact lies where its ids say

      Examples:
        | rule   | form |
        | BUS-56 | text |
        | BUS-57 | JSON |

    @BUS-60
    Scenario: Calls with different spans do not share artifacts
      Given an MCP server
      And a call of the echo probe
      And its correlation ids
      And the client has made the call
      And the argument "span_id" is "sp-02"
      When the client makes the call
      Then each call has its own artifacts

    @BUS-60
    Scenario Outline: Neither do calls whose spans are alike: "<first>" and "<second>"
      Given an MCP server
      And a call of the echo probe
      And its correlation ids
      And the argument "span_id" is "<first>"
      And the client has made the call
      And the argument "span_id" is "<second>"
      When the client makes the call
      Then each call has its own artifacts

      Examples:
        | first | second |
        | sp-03 | Sp-03  |
        | sp_03 | sp-03  |
        | sp-of-a-name-as-long-as-a-uuid-is-03 | sp-of-a-name-as-long-as-a-uuid-is-04 |

  @cap:root
  Rule: Artifacts can be read by those they are for

    @BUS-58
    Scenario: The text artifact is text
      Given an MCP server
      And a call of the echo probe
      And its correlation ids
      When the client makes the call
      Then the text artifact can be read by a person

    @BUS-59
    Scenario: The JSON artifact is one document
      Given an MCP server
      And a call of the echo probe
      And its correlation ids
      When the client makes the call
      Then the JSON artifact is one JSON document

    @BUS-59 @cap:probe.large
    Scenario: So it is when the result is large
      Given an MCP server of its own for large calls
      And a call of the large probe for 1024 KiB
      And its correlation ids
      When the client makes the call
      Then the JSON artifact is one JSON document

  @BUS-61 @cap:root @cap:restart
  Rule: A reference is stable

    Scenario: After further calls and a restart the artifacts are unchanged
      Given an MCP server of its own
      And a call of the echo probe
      And its correlation ids
      When the client makes the call and 20 others, and the server is started anew
      Then its artifacts are unchanged

    Scenario: After many further calls they are, too
      Given an MCP server of its own
      And a call of the echo probe
      And its correlation ids
      When the client makes the call and up to 110 others
      Then its artifacts are unchanged

  @cap:root
  Rule: Artifacts can be read whatever stands in a result

    Scenario Outline: The <form> artifact of <what> <property>
      Given an MCP server
      And a call of the echo probe with <value>
      And its correlation ids
      When the client makes the call
      Then the <form> artifact <property>

      Examples:
        | rule   | form | what                 | value                                                        | property                     |
        | BUS-58 | text | letters of the world | {"text": "Zażółć — 水 — 👩‍🚀𝄞", "other": "été"}                | can be read by a person      |
        | BUS-59 | JSON | letters of the world | {"text": "Zażółć — 水 — 👩‍🚀𝄞", "other": "été"}                | is one JSON document         |
        | BUS-59 | JSON | quotes and lines     | {"lines": "one\\ntwo\\t\\"three\\" \\\\ four", "other": 1}    | is one JSON document         |
        | BUS-59 | JSON | braces               | {"text": "}}, {\\"a\\": [", "none": null, "no": false}       | is one JSON document         |

    # A cut between two bytes of a letter leaves no text; each length has its letters at other places.
    @BUS-58
    Scenario Outline: The text artifact of <kib> KiB of letters of three bytes is text
      Given an MCP server of its own for large calls
      And a call of the echo probe with a list of texts in three-byte letters of <kib> KiB
      And its correlation ids
      When the client makes the call
      Then the text artifact can be read by a person

      Examples:
        | kib |
        | 96  |
        | 97  |
        | 98  |
        | 768 |
        | 769 |
        | 770 |

  # What one pass over `../` leaves of the first is what it should have taken away; what is decoded twice was not looked at.
  @BUS-55 @cap:root @cap:restart
  Rule: A way out may be written otherwise

    Scenario Outline: <id> as "<argument>" does not lead outside
      Given an MCP server of its own
      And a call of the echo probe
      And its correlation ids
      And the argument "<argument>" is "<id>"
      When the client makes the call
      Then nothing is written outside the context root

      Examples:
        | argument | id                                   |
        | trace_id | ....//....//....//....//....//up     |
        | span_id  | ....//....//....//....//....//up     |
        | trace_id | %2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2fup |
        | span_id  | %2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2fup |
        | trace_id | ok/../../../../../../../up           |
        | span_id  | ok/../../../../../../../up           |

  @cap:root
  Rule: A JSON artifact is of the call that left it

    @BUS-53
    Scenario Outline: That of the <probe> probe is of its call
      Given an MCP server
      And a call of the <probe> probe
      And its correlation ids
      When the client makes the call
      Then the JSON artifact is of the call

      Examples:
        | probe |
        | echo  |

      @cap:probe.first-other
      Examples: another tool
        | probe       |
        | first other |

      @cap:probe.second-other
      Examples: a third tool
        | probe        |
        | second other |

    @BUS-60
    Scenario: Of two calls, one after the other, each has its own
      Given an MCP server of its own
      And a call of the echo probe
      And its correlation ids
      And the client has made the call
      And the argument "span_id" is "sp-02"
      When the client makes the call
      Then each JSON artifact is of its own call

  # A span is that of a call within its trace alone.
  @BUS-61 @cap:root
  Rule: A reference does not come to lead to a call of another trace

    Scenario: Of two calls with one span, each in a trace of its own, each has its own reference
      Given an MCP server
      And a call of the echo probe with {"crossing": 1}
      And its correlation ids
      And the client has made the call
      And a call of the echo probe with {"crossing": 2}
      And its correlation ids
      And the argument "trace_id" is "tr-02"
      When the client makes the call
      Then each JSON artifact is of its own call

    Scenario Outline: Neither do traces that are alike share a reference: "<first>" and "<second>"
      Given an MCP server
      And a call of the echo probe with {"alike": "<first>"}
      And its correlation ids
      And the argument "trace_id" is "<first>"
      And the client has made the call
      And a call of the echo probe with {"alike": "<second>"}
      And its correlation ids
      And the argument "trace_id" is "<second>"
      When the client makes the call
      Then each JSON artifact is of its own call

      Examples:
        | first | second |
        | tr-05 | Tr-05  |
        | tr_05 | tr-05  |
        | tr-of-a-name-that-is-longer-than-a-uuid-is-05 | tr-of-a-name-that-is-longer-than-a-uuid-is-06 |

  # A store may write other signs than letters, digits, hyphens and underscores otherwise, so only the references of these
  # calls are looked at.
  @cap:root
  Rule: Ids with dots stay apart

    Scenario Outline: Calls with "<first>" and "<second>" as "<argument>" have references of their own
      Given an MCP server
      And a call of the echo probe with {"dotted": "<first>"}
      And its correlation ids
      And the argument "<argument>" is "<first>"
      And the client has made the call
      And a call of the echo probe with {"dotted": "<second>"}
      And its correlation ids
      And the argument "<argument>" is "<second>"
      When the client makes the call
      Then the calls have different artifacts

      Examples:
        | rule   | argument | first | second |
        | BUS-60 | span_id  | sp.03 | sp_03  |
        | BUS-61 | trace_id | tr.05 | tr_05  |

  # Ids that not every path can hold may be refused, or leave no artifacts.
  @cap:root
  Rule: Long and strange ids stay apart, where there are artifacts of such calls

    Scenario Outline: As "<argument>", "<first>" and "<second>" have references of their own
      Given an MCP server
      And a call of the echo probe with {"strange": "<first>"}
      And its correlation ids
      And the argument "<argument>" is "<first>"
      And the client has made the call
      And a call of the echo probe with {"strange": "<second>"}
      And its correlation ids
      And the argument "<argument>" is "<second>"
      When the client makes the call
      Then the calls have different artifacts

      Examples: signs that a path need not hold
        | rule   | argument | first  | second |
        | BUS-60 | span_id  | sp:03  | sp_03  |
        | BUS-60 | span_id  | spé03  | spè03  |
        | BUS-61 | trace_id | tr:05  | tr_05  |
        | BUS-60 | span_id  | sp@03  | sp_03  |
        | BUS-61 | trace_id | tr@05  | tr_05  |
        | BUS-60 | span_id  | sp+03  | sp_03  |
        | BUS-61 | trace_id | tr+05  | tr_05  |

      Examples: digits, and ids of other services
        | rule   | argument | first | second |
        | BUS-60 | span_id  | 07    | 7      |
        | BUS-61 | trace_id | 07    | 7      |
        | BUS-60 | span_id  | 0af76519-16cd-43dd-8448-eb211c80319c | 0af7651916cd43dd8448eb211c80319c |
        | BUS-61 | trace_id | 0af76519-16cd-43dd-8448-eb211c80319c | 0af7651916cd43dd8448eb211c80319c |

      Examples: more than a hundred letters
        | rule   | argument | first | second |
        | BUS-60 | span_id  | sp-of-a-name-that-is-as-long-as-a-path-of-several-services-each-of-which-has-added-its-own-name-to-it-is-03 | sp-of-a-name-that-is-as-long-as-a-path-of-several-services-each-of-which-has-added-its-own-name-to-it-is-04 |
        | BUS-61 | trace_id | tr-of-a-name-that-is-as-long-as-a-path-of-several-services-each-of-which-has-added-its-own-name-to-it-is-05 | tr-of-a-name-that-is-as-long-as-a-path-of-several-services-each-of-which-has-added-its-own-name-to-it-is-06 |

  @cap:root
  Rule: Long spans stay apart, and control characters are no part of a text

    @BUS-60
    Scenario Outline: Calls whose spans differ in their last letter have artifacts of their own: "<first>" and "<second>"
      Given an MCP server
      And a call of the echo probe
      And its correlation ids
      And the argument "span_id" is "<first>"
      And the client has made the call
      And the argument "span_id" is "<second>"
      When the client makes the call
      Then each call has its own artifacts

      Examples:
        | first | second |
        | sp-of-a-name-that-is-longer-than-a-uuid-is-03 | sp-of-a-name-that-is-longer-than-a-uuid-is-04 |

    Scenario Outline: The <form> artifact of <what> <property>
      Given an MCP server
      And a call of the echo probe with <value>
      And its correlation ids
      When the client makes the call
      Then the <form> artifact <property>

      Examples:
        | rule   | form | what                 | value                                                        | property                     |
        | BUS-58 | text | control characters   | {"bell": "a\\u0007b", "other": "\\u0001\\u0008\\u001f"}    | can be read by a person      |
        | BUS-59 | JSON | control characters   | {"bell": "a\\u0007b", "other": "\\u0001\\u0008\\u001f"}    | is one JSON document         |

  @cap:root @cap:replicas
  Rule: Replicas keep their artifacts in one store

    @BUS-60
    Scenario: Calls with different spans at two replicas do not share artifacts
      Given an MCP server with replicas
      And a call of the echo probe
      And its correlation ids
      And the client has made the call
      And the argument "span_id" is "sp-02"
      When the client makes the call at another replica
      Then each call has its own artifacts

    # A replica that tidies up may take for litter what another one has left.
    @BUS-61
    Scenario: What one replica has left, calls at the others leave as it is
      Given an MCP server with replicas
      And a call of the echo probe
      And its correlation ids
      When the client makes the call and 5 others at every replica
      Then its artifacts are unchanged

  # Ids that are counted begin anew with the server.
  @BUS-61 @cap:root @cap:restart
  Rule: A reference does not come to lead to a call after a restart

    Scenario: The first calls after two restarts have references of their own
      Given an MCP server of its own
      And a call of the echo probe
      When the client makes the call and the server is started anew
      Given a call of the echo probe with {"made": "after one restart"}
      When the client makes the call and the server is started anew
      Given a call of the echo probe with {"made": "after another restart"}
      When the client makes the call
      Then the calls have different artifacts

  # A result may be nothing that counts as true, and a call may have some of the ids alone.
  @cap:root
  Rule: Every call leaves its artifacts, whatever it gives back and whatever else it asks for

    Scenario Outline: A call whose shaped result is <result> leaves a <form> artifact
      Given an MCP server
      And a call of the echo probe with {"falsy": <result>, "other": 1}
      And its correlation ids
      And the output is {"path": "falsy"}
      When the client makes the call
      Then the call leaves a <form> artifact

      Examples:
        | rule   | form | result |
        | BUS-52 | text | 0      |
        | BUS-53 | JSON | 0      |
        | BUS-52 | text | false  |
        | BUS-53 | JSON | false  |
        | BUS-52 | text | ""     |
        | BUS-53 | JSON | ""     |
        | BUS-52 | text | []     |
        | BUS-53 | JSON | []     |
        | BUS-52 | text | {}     |
        | BUS-53 | JSON | {}     |

    Scenario Outline: A call that has "<argument>" alone leaves a <form> artifact
      Given an MCP server
      And a call of the echo probe with {"ids": "<argument>"}
      And the argument "<argument>" is "id-06"
      When the client makes the call
      Then the call leaves a <form> artifact

      Examples:
        | rule   | form | argument       |
        | BUS-52 | text | trace_id       |
        | BUS-53 | JSON | trace_id       |
        | BUS-52 | text | span_id        |
        | BUS-53 | JSON | span_id        |
        | BUS-52 | text | parent_span_id |
        | BUS-53 | JSON | parent_span_id |

    Scenario Outline: A call that stores its result in the <scope> scope leaves a <form> artifact
      Given an MCP server
      And a call of the echo probe
      And its correlation ids
      And the result is stored under "key-6" in the <scope> scope
      When the client makes the call
      Then the call leaves a <form> artifact

      @cap:scope.first
      Examples:
        | rule   | form | scope |
        | BUS-52 | text | first |
        | BUS-53 | JSON | first |

      @cap:scope.second
      Examples: another scope
        | rule   | form | scope  |
        | BUS-52 | text | second |
        | BUS-53 | JSON | second |

    @cap:probe.third-other
    Scenario Outline: The third other probe leaves a <form> artifact
      Given an MCP server
      And a call of the third other probe
      And its correlation ids
      When the client makes the call
      Then the call leaves a <form> artifact

      Examples:
        | rule   | form |
        | BUS-52 | text |
        | BUS-53 | JSON |

  # Who keeps the artifacts of a trace together may touch the earlier ones with each further call of it.
  @BUS-61 @cap:root
  Rule: A reference stays as it is whatever comes after its call

    Scenario: After further calls of the same trace
      Given an MCP server of its own
      And a call of the echo probe
      And its correlation ids
      When the client makes the call and up to 2 others
      Given a call of the echo probe
      And its correlation ids
      And the argument "span_id" is "sp-02"
      And the client has made the call
      And the argument "span_id" is "sp-03"
      And the client has made the call
      And a call of the echo probe with {"turn": 4}
      And its correlation ids
      And the argument "span_id" is "sp-04"
      When the client makes the call
      Then its artifacts are unchanged

    Scenario: After a call below it
      Given an MCP server of its own
      And a call of the echo probe
      And its correlation ids
      When the client makes the call and up to 2 others
      Given a call of the echo probe with {"below": 1}
      And its correlation ids
      And the argument "span_id" is "sp-02"
      And the argument "parent_span_id" is "sp-01"
      When the client makes the call
      Then its artifacts are unchanged

    @cap:probe.fail
    Scenario: After a call that fails
      Given an MCP server of its own
      And a call of the echo probe
      And its correlation ids
      When the client makes the call and up to 2 others
      Given a call of the fail probe
      And its correlation ids
      And the argument "span_id" is "sp-02"
      When the client makes the call
      Then its artifacts are unchanged
