@role:toolbus.server
Feature: A call can store its result in mcp_state
  `store_as` names a key, `store_scope` the scope. What is stored is the shaped result. The suite reads the
  state through the tool that the manifest names as its reader.

  @cap:probe.state
  Rule: The shaped result is stored under the key

    @BUS-22
    Scenario: What output keeps is what is stored
      Given an MCP server
      And a call of the echo probe with {"alpha": 0, "gamma": 1}
      And the output is {"pick": ["gamma"]}
      And the result is stored under "key-1"
      When the client makes the call
      Then the state holds {"gamma": 1} under "key-1"

    @BUS-22
    Scenario: What a path selects is what is stored
      Given an MCP server
      And a call of the echo probe with {"alpha": {"beta": 5}, "gamma": 1}
      And the output is {"path": "alpha"}
      And the result is stored under "key-1"
      When the client makes the call
      Then the state holds {"beta": 5} under "key-1"

    @BUS-22
    Scenario Outline: What <output> keeps is what is stored
      Given an MCP server
      And a call of the echo probe with {"alpha": {"beta": 5, "delta": 6}, "gamma": 1}
      And the output is <output>
      And the result is stored under "key-9"
      When the client makes the call
      Then the state holds <result> under "key-9"

      Examples:
        | output                              | result                             |
        | {"omit": ["alpha"]}                 | {"gamma": 1}                       |
        | {"omit": ["gamma"]}                 | {"alpha": {"beta": 5, "delta": 6}} |
        | {"path": "alpha", "omit": ["beta"]} | {"delta": 6}                       |

    @BUS-22
    Scenario: A list of more than one element is stored whole
      Given an MCP server
      And a call of the echo probe with {"alpha": [{"id": 1}, [2, 3], null, "four", {"id": 1}], "gamma": 1}
      And the output is {"path": "alpha"}
      And the result is stored under "key-9"
      When the client makes the call
      Then the state holds [{"id": 1}, [2, 3], null, "four", {"id": 1}] under "key-9"

    @BUS-22
    Scenario: The mode "compact" stores what the other does
      Given an MCP server
      And a call of the echo probe with {"alpha": 0, "gamma": 1}
      And the output is {"pick": ["gamma"]}
      And the result is stored under "key-9"
      When the client makes the call in "compact" mode
      Then the state holds {"gamma": 1} under "key-9"

    @BUS-22
    Scenario: Keys that differ in capitals are two
      Given an MCP server
      And a call of the echo probe with {"gamma": 1}
      And the result is stored under "key-9"
      And the client has made the call
      And a call of the echo probe with {"gamma": 2}
      And the result is stored under "Key-9"
      When the client makes the call
      Then the state holds {"gamma": 1} under "key-9"

    @BUS-22
    Scenario Outline: What a path selects is stored, be it <value>
      Given an MCP server
      And a call of the echo probe with {"alpha": <value>, "gamma": 1}
      And the output is {"path": "alpha"}
      And the result is stored under "key-1"
      When the client makes the call
      Then the state holds <value> under "key-1"

      Examples:
        | value |
        | 0     |
        | false |
        | ""    |
        | []    |
        | 2.75  |
        | true  |
        | {}    |
        | "Zażółć — 水 — 👩‍🚀𝄞" |
        | "one\\ntwo\\tthree" |
        | "A note of more than 255 letters, which is what a column of a table often holds; a state that keeps texts in one cuts them off there without a word. The note goes on, and says nothing more than that it is long, and longer, and longer still, and that it ends only here." |

    @BUS-23
    Scenario: Without output the whole result is stored
      Given an MCP server
      And a call of the echo probe with {"alpha": 0, "gamma": [1, 2]}
      And the result is stored under "key-1"
      When the client makes the call
      Then the state holds the result under "key-1"

    @BUS-31
    Scenario: A second result takes the place of the first
      Given an MCP server
      And a call of the echo probe with {"turn": 1, "first": true}
      And the result is stored under "key-1"
      And the client has made the call
      And a call of the echo probe with {"turn": 2}
      And the result is stored under "key-1"
      When the client makes the call
      Then the state holds the result under "key-1"

  Rule: A call that stores still gives its result back

    @BUS-24
    Scenario: The shaped result comes back
      Given an MCP server
      And a call of the echo probe with {"alpha": 0, "gamma": 1}
      And the output is {"pick": ["gamma"]}
      And the result is stored under "key-1"
      When the client makes the call
      Then the result is {"gamma": 1}

    @BUS-24
    Scenario: The whole result comes back
      Given an MCP server
      And a call of the echo probe with {"alpha": 0, "gamma": 1}
      And the result is stored under "key-1"
      When the client makes the call
      Then each result is the value of its call

  @BUS-25 @cap:probe.state
  Rule: Without store_as nothing is stored

    # What is not there shows only where something could be: in the default scope, or in one that needs no session.
    @cap:scope.first
    Scenario: A plain call leaves the state alone
      Given an MCP server of its own
      And a call of the echo probe
      When the client makes the call
      Then the state holds nothing of the call

    Scenario: Nor does it touch what a call before has stored
      Given an MCP server of its own
      And a call of the echo probe with {"turn": "stored"}
      And the result is stored under "key-1"
      And the client has made the call
      And a call of the echo probe with {"turn": "plain"}
      When the client makes the call
      Then the state holds nothing of the call

  @cap:probe.state
  Rule: store_scope selects the scope

    @BUS-26
    Scenario Outline: A result that is stored in the <scope> scope is read from there
      Given an MCP server
      And a call of the echo probe with {"gamma": 1}
      And the result is stored under "key-2" in the <scope> scope
      When the client makes the call
      Then the state holds <result> under "key-2" in the <scope> scope

      @cap:scope.first
      Examples:
        | scope | result       |
        | first | {"gamma": 1} |

      @cap:scope.second
      Examples: the other one
        | scope  | result       |
        | second | {"gamma": 1} |

    @BUS-26 @cap:scope.second
    Scenario: What output keeps is stored in the scope that is named, too
      Given an MCP server
      And a call of the echo probe with {"alpha": 0, "gamma": 1}
      And the output is {"pick": ["gamma"]}
      And the result is stored under "key-2" in the second scope
      When the client makes the call
      Then the state holds {"gamma": 1} under "key-2" in the second scope

    @BUS-26
    Scenario Outline: So is one of the <probe> probe that is stored in the <scope> scope
      Given an MCP server
      And a call of the <probe> probe
      And the result is stored under "key-2" in the <scope> scope
      When the client makes the call
      Then the state holds the result under "key-2" in the <scope> scope

      @cap:scope.first @cap:probe.first-other
      Examples:
        | probe       | scope |
        | first other | first |

      @cap:scope.second @cap:probe.first-other
      Examples: the other one
        | probe       | scope  |
        | first other | second |

      @cap:scope.first @cap:probe.second-other
      Examples: a further tool
        | probe        | scope |
        | second other | first |

      @cap:scope.second @cap:probe.second-other
      Examples: the other one of a further tool
        | probe        | scope  |
        | second other | second |

    @BUS-27 @cap:scope.second
    Scenario Outline: A result that is stored in the <scope> scope is not read from the <other> one
      Given an MCP server
      And a call of the echo probe with {"gamma": 1}
      And the result is stored under "key-3" in the <scope> scope
      When the client makes the call
      Then the state holds nothing under "key-3" in the <other> scope

      Examples:
        | scope  | other  |
        | first  | second |
        | second | first  |

    @BUS-27 @cap:scope.second
    Scenario Outline: Of two results under one key the <scope> scope keeps its own
      Given an MCP server
      And a call of the echo probe with {"gamma": 1}
      And the result is stored under "key-7" in the first scope
      And the client has made the call
      And a call of the echo probe with {"gamma": 2}
      And the result is stored under "key-7" in the second scope
      When the client makes the call
      Then the state holds <result> under "key-7" in the <scope> scope

      Examples:
        | scope  | result       |
        | first  | {"gamma": 1} |
        | second | {"gamma": 2} |

  @BUS-28 @cap:probe.state @cap:restart
  Rule: What is persistent outlives a restart, and a session does not

    @cap:scope.persistent
    Scenario: The persistent scope survives
      Given an MCP server of its own
      And a call of the echo probe with {"gamma": 1}
      And the result is stored under "key-4" in the persistent scope
      When the client makes the call and the server is started anew
      Then the state holds {"gamma": 1} under "key-4" in the persistent scope

    @cap:scope.session
    Scenario: The session scope is gone
      Given an MCP server of its own
      And a call of the echo probe with {"gamma": 1}
      And the result is stored under "key-4" in the session scope
      When the client makes the call and the server is started anew
      Then the state holds nothing under "key-4" in the session scope

  @BUS-29 @cap:probe.state
  Rule: Every tool's result can be stored

    Scenario Outline: The result of the <probe> probe is stored
      Given an MCP server
      And a call of the <probe> probe
      And the result is stored under "key-5"
      When the client makes the call
      Then the state holds the result under "key-5"

      @cap:probe.first-other
      Examples:
        | probe       |
        | first other |

      @cap:probe.second-other
      Examples: a further tool
        | probe        |
        | second other |

  @BUS-30 @cap:probe.state
  Rule: A call that fails stores nothing

    Scenario Outline: The key of a failed call of the <probe> probe stays empty
      Given an MCP server of its own
      And a call of the <probe> probe
      And the result is stored under "key-6"
      When the client makes the call
      Then the state holds nothing under "key-6"

      @cap:probe.fail
      Examples:
        | probe |
        | fail  |

      @cap:probe.invalid
      Examples: invalid arguments
        | probe   |
        | invalid |

  @cap:probe.state
  Rule: What is stored is what all of output keeps, and each key has its own

    @BUS-22
    Scenario: A path and a pick together keep what is stored
      Given an MCP server
      And a call of the echo probe with {"alpha": {"beta": 5, "delta": 6}, "gamma": 1}
      And the output is {"path": "alpha", "pick": ["beta"]}
      And the result is stored under "key-9"
      When the client makes the call
      Then the state holds {"beta": 5} under "key-9"

    @BUS-22
    Scenario Outline: "<first>" and "<second>" are two keys
      Given an MCP server
      And a call of the echo probe with {"gamma": 1}
      And the result is stored under "<first>"
      And the client has made the call
      And a call of the echo probe with {"gamma": 2}
      And the result is stored under "<second>"
      When the client makes the call
      Then the state holds {"gamma": 1} under "<first>"

      Examples:
        | first                                | second                               |
        | key_9                                | key-9                                |
        | key-of-a-name-as-long-as-a-uuid-is-1 | key-of-a-name-as-long-as-a-uuid-is-2 |

    # The last call only shows that the server still works; what is read is what the first one stored.
    @BUS-30
    Scenario Outline: A failed call of the <probe> probe leaves under its key what was there
      Given an MCP server of its own
      And a call of the echo probe with {"gamma": 1}
      And the result is stored under "key-6"
      And the client has made the call
      And a call of the <probe> probe
      And the result is stored under "key-6"
      And the client has made the call
      And a call of the echo probe
      When the client makes the call
      Then the state holds {"gamma": 1} under "key-6"

      @cap:probe.fail
      Examples:
        | probe |
        | fail  |

      @cap:probe.invalid
      Examples: invalid arguments
        | probe   |
        | invalid |

    @BUS-30 @cap:probe.fail
    Scenario: A failed call that stores nothing leaves the state as it was
      Given an MCP server of its own
      And a call of the echo probe with {"gamma": 1}
      And the result is stored under "key-6"
      And the client has made the call
      And a call of the fail probe
      And the client has made the call
      And a call of the echo probe
      When the client makes the call
      Then the state holds {"gamma": 1} under "key-6"

  @cap:probe.state
  Rule: What is stored keeps its members, and those that were stored before

    @BUS-23
    Scenario Outline: <value> is stored with all its members
      Given an MCP server
      And a call of the echo probe with <value>
      And the result is stored under "key-9"
      When the client makes the call
      Then the state holds <value> under "key-9"

      Examples:
        | value                                                                       |
        | {"none": null, "deep": {"no": false, "list": [null, 1]}, "zero": 0}         |
        | {"fooBar": 1, "foo_baz": 2, "foo-qux": 3, "_id": 4, "$ref": "x", "a.b": 5}  |
        | {"large": 4294967297, "small": -5000000000, "half": 0.5, "digits": "0042"}  |

    @BUS-28 @cap:restart @cap:scope.persistent
    Scenario: The persistent scope survives with every key
      Given an MCP server of its own
      And a call of the echo probe with {"gamma": 1}
      And the result is stored under "key-4" in the persistent scope
      And the client has made the call
      And a call of the echo probe with {"gamma": 2}
      And the result is stored under "key-5" in the persistent scope
      When the client makes the call and the server is started anew
      Then the state holds {"gamma": 1} under "key-4" in the persistent scope

    @BUS-28 @cap:restart @cap:scope.persistent
    Scenario: So do letters of the world
      Given an MCP server of its own
      And a call of the echo probe with {"text": "Zażółć — 水 — 👩‍🚀𝄞"}
      And the result is stored under "key-4" in the persistent scope
      When the client makes the call and the server is started anew
      Then the state holds {"text": "Zażółć — 水 — 👩‍🚀𝄞"} under "key-4" in the persistent scope

  @cap:probe.state
  Rule: What is stored is what the call returns, whichever scope it is stored in

    # The form of `map` is not defined (ambiguity A5), so that a server may refuse it.
    @BUS-22
    Scenario: What map makes of a list is what is stored
      Given an MCP server
      And a call of the echo probe with {"rows": [{"id": 1, "x": 2}, {"id": 3, "x": 4}], "gamma": 1}
      And the output is {"path": "rows", "map": {"pick": ["id"]}}
      And the result is stored under "key-9"
      When the client makes the call
      Then the state holds the result, where there is one, under "key-9"

    # Each scope may have a store of its own.
    @BUS-23 @cap:scope.second
    Scenario: The second scope keeps all members as well
      Given an MCP server
      And a call of the echo probe with {"none": null, "deep": {"no": false, "list": [null, 1]}, "zero": 0, "digits": "0042"}
      And the result is stored under "key-9" in the second scope
      When the client makes the call
      Then the state holds {"none": null, "deep": {"no": false, "list": [null, 1]}, "zero": 0, "digits": "0042"} under "key-9" in the second scope

    @BUS-22 @cap:scope.second
    Scenario Outline: What a path selects is stored in the second scope as it is: <value>
      Given an MCP server
      And a call of the echo probe with {"alpha": <value>, "gamma": 1}
      And the output is {"path": "alpha"}
      And the result is stored under "key-1" in the second scope
      When the client makes the call
      Then the state holds <value> under "key-1" in the second scope

      Examples:
        | value  |
        | "0042" |
        | false  |

  # Over HTTP there may be several processes behind one address: a session is that of one of them, what is persistent is not.
  @cap:probe.state @cap:replicas
  Rule: What outlives a session is there at every replica

    @BUS-28 @cap:scope.persistent
    Scenario: What one replica stores in the persistent scope, each of them has
      Given an MCP server with replicas
      And a call of the echo probe with {"gamma": 1}
      And the result is stored under "key-8" in the persistent scope
      When the client makes the call
      Then the state holds {"gamma": 1} under "key-8" in the persistent scope at every replica

    # Each has read the first one, and may have kept it.
    @BUS-31 @cap:scope.persistent
    Scenario: What another replica stores takes the place of the first
      Given an MCP server with replicas
      And a call of the echo probe with {"gamma": 1}
      And the result is stored under "key-8" in the persistent scope
      And the client has made the call
      And every replica has read "key-8" in the persistent scope
      And a call of the echo probe with {"gamma": 2}
      And the result is stored under "key-8" in the persistent scope
      When the client makes the call at another replica
      Then the state holds {"gamma": 2} under "key-8" in the persistent scope at every replica

    # Where MCP has no session, a call names its own, and any replica may get it.
    @BUS-26 @since:2026-07-28 @cap:scope.first
    Scenario: So is a session that calls name
      Given an MCP server with replicas
      And a call of the echo probe with {"gamma": 1}
      And the result is stored under "key-8" in the first scope
      When the client makes the call
      Then the state holds {"gamma": 1} under "key-8" in the first scope at every replica

  @BUS-30 @cap:probe.state
  Rule: A shape that does not fit stores no whole result

    # Whether null, nothing or an empty result is stored is left open. The second call has the same value and stores nothing.
    Scenario: What a path to nothing leads to is not the whole value
      Given an MCP server of its own
      And a call of the echo probe with {"alpha": {"beta": 5}, "turn": "of no path"}
      And the output is {"path": "missing"}
      And the result is stored under "key-1"
      And the client has made the call
      And a call of the echo probe with {"alpha": {"beta": 5}, "turn": "of no path"}
      When the client makes the call
      Then the state holds nothing of the call

  @BUS-28 @cap:probe.state @cap:restart @cap:scope.persistent
  Rule: What is stored after a restart leaves what was stored before it

    Scenario: A key from before the restart is still there after a further one is stored
      Given an MCP server of its own
      And a call of the echo probe with {"shift": "night"}
      And the result is stored under "key-4" in the persistent scope
      When the client makes the call and the server is started anew
      Given a call of the echo probe with {"shift": "day"}
      And the result is stored under "key-5" in the persistent scope
      When the client makes the call
      Then the state holds {"shift": "night"} under "key-4" in the persistent scope

  @cap:probe.state
  Rule: Whatever else a call asks for, and whatever was called before, its result is stored

    @BUS-23
    Scenario: The result of a call with correlation ids is stored
      Given an MCP server
      And a call of the echo probe with {"gamma": 1}
      And its correlation ids
      And the result is stored under "key-9"
      When the client makes the call
      Then the state holds {"gamma": 1} under "key-9"

    # The key is that of a call before, which failed, or stored nothing else.
    @BUS-23
    Scenario Outline: After a failed call of the <probe> probe a result is stored under its key
      Given an MCP server of its own
      And a call of the <probe> probe
      And the result is stored under "key-6"
      And the client has made the call
      And a call of the echo probe with {"gamma": 1}
      And the result is stored under "key-6"
      When the client makes the call
      Then the state holds {"gamma": 1} under "key-6"

      @cap:probe.fail
      Examples:
        | probe |
        | fail  |

      @cap:probe.invalid
      Examples: invalid arguments
        | probe   |
        | invalid |

    @BUS-22
    Scenario Outline: What a path selects is stored in full: <value>
      Given an MCP server
      And a call of the echo probe with {"alpha": <value>, "gamma": 1}
      And the output is {"path": "alpha"}
      And the result is stored under "key-1"
      When the client makes the call
      Then the state holds <value> under "key-1"

      Examples:
        | value                                              |
        | " x "                                              |
        | 3.141592653589793                                  |
        | -7                                                 |
        | [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, "twelve"]      |
        | {"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}} |

  @BUS-25 @cap:probe.state @cap:scope.persistent
  Rule: A scope alone stores nothing

    Scenario: A call that names a scope and no key leaves the state alone
      Given an MCP server of its own
      And a call of the echo probe
      And the argument "store_scope" is "persistent"
      When the client makes the call
      Then the state holds nothing of the call

  @BUS-31 @cap:probe.state
  Rule: A value that is empty takes the place of the first as well

    Scenario Outline: A second result that is <value>
      Given an MCP server
      And a call of the echo probe with {"alpha": 1, "turn": "before <what>"}
      And the output is {"path": "alpha"}
      And the result is stored under "key-10"
      And the client has made the call
      And a call of the echo probe with {"alpha": <value>, "turn": "<what>"}
      And the output is {"path": "alpha"}
      And the result is stored under "key-10"
      When the client makes the call
      Then the state holds <value> under "key-10"

      Examples:
        | what            | value |
        | zero            | 0     |
        | false           | false |
        | an empty text   | ""    |
        | an empty list   | []    |
        | an empty object | {}    |
