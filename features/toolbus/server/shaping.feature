@role:toolbus.server
Feature: A caller shapes the result with output
  `path` selects a part, `pick` keeps keys, `omit` drops keys, `map` shapes each element of a list. Paths in
  these features are written in dots, below the value that the echo probe gives back; the manifest says how
  the server writes them.

  Rule: Each form of output shapes the result

    Scenario Outline: <output> over <value> gives <result>
      Given an MCP server
      And a call of the echo probe with <value>
      And the output is <output>
      When the client makes the call
      Then the result is <result>

      Examples: path
        | rule   | value                            | output            | result       |
        | BUS-12 | {"alpha": {"beta": 5}, "gamma": 1} | {"path": "alpha"} | {"beta": 5}  |
        | BUS-12 | {"alpha": {"beta": 5}, "gamma": 1} | {"path": "gamma"} | 1            |
        | BUS-12 | {"alpha": [1, 2], "gamma": 1}      | {"path": "alpha"} | [1, 2]       |
        | BUS-12 | {"alpha": 0, "gamma": 1}           | {"path": "alpha"} | 0            |
        | BUS-12 | {"alpha": false, "gamma": 1}       | {"path": "alpha"} | false        |
        | BUS-12 | {"alpha": "", "gamma": 1}          | {"path": "alpha"} | ""           |
        | BUS-12 | {"alpha": [], "gamma": 1}          | {"path": "alpha"} | []           |
        | BUS-12 | {"alpha": {}, "gamma": 1}          | {"path": "alpha"} | {}           |
        | BUS-12 | {"alpha": 2.75, "gamma": 1}        | {"path": "alpha"} | 2.75         |
        | BUS-12 | {"alpha": [{"beta": 5}], "gamma": 1} | {"path": "alpha"} | [{"beta": 5}] |
        | BUS-12 | {"alpha": "12", "gamma": 1}        | {"path": "alpha"} | "12"         |
        | BUS-12 | {"Alpha": 1, "alpha": 2}           | {"path": "alpha"} | 2            |

      Examples: nested path
        | rule   | value                                       | output                       | result |
        | BUS-13 | {"alpha": {"beta": 5, "delta": 6}, "gamma": 1} | {"path": "alpha.beta"}    | 5      |
        | BUS-13 | {"rows": [{"id": 7, "x": 1}, {"id": 8, "x": 2}]} | {"path": "rows[1].id"}  | 8      |

      Examples: pick and omit
        | rule   | value                                 | output                      | result                    |
        | BUS-14 | {"alpha": 0, "gamma": 1, "delta": 2}  | {"pick": ["gamma"]}         | {"gamma": 1}              |
        | BUS-14 | {"alpha": 0, "gamma": 1, "delta": 2}  | {"pick": ["gamma", "alpha"]} | {"alpha": 0, "gamma": 1} |
        | BUS-14 | {"alpha": false, "gamma": "", "delta": 2} | {"pick": ["gamma", "alpha"]} | {"alpha": false, "gamma": ""} |
        | BUS-14 | {"alpha": null, "gamma": 1, "delta": 2} | {"pick": ["alpha", "gamma"]} | {"alpha": null, "gamma": 1} |
        | BUS-14 | {"alpha": {"beta": 5, "id": 7}, "gamma": 1} | {"pick": ["alpha"]}     | {"alpha": {"beta": 5, "id": 7}} |
        | BUS-14 | {"alpha": 0, "alphabet": 1, "Alpha": 2} | {"pick": ["alpha"]}         | {"alpha": 0}              |
        | BUS-15 | {"alpha": 0, "gamma": 1, "delta": 2}  | {"omit": ["alpha"]}         | {"gamma": 1, "delta": 2}  |
        | BUS-15 | {"alpha": 0, "gamma": null, "delta": 2} | {"omit": ["alpha"]}       | {"gamma": null, "delta": 2} |
        | BUS-15 | {"alpha": 0, "gamma": 1, "delta": 2}  | {"omit": ["alpha", "gamma"]} | {"delta": 2}             |
        | BUS-15 | {"alpha": 1, "gamma": false, "delta": []} | {"omit": ["alpha"]}  | {"gamma": false, "delta": []} |
        | BUS-15 | {"alpha": 1, "gamma": {"alpha": 2, "beta": 3}} | {"omit": ["alpha"]} | {"gamma": {"alpha": 2, "beta": 3}} |
        | BUS-15 | {"alpha": 0, "alphabet": 1, "Alpha": 2} | {"omit": ["alpha"]}         | {"alphabet": 1, "Alpha": 2} |

      Examples: map
        | rule   | value                                             | output                                       | result                   |
        | BUS-16 | {"rows": [{"id": 1, "x": 2}, {"id": 3, "x": 4}]}   | {"path": "rows", "map": {"pick": ["id"]}}    | [{"id": 1}, {"id": 3}]   |
        | BUS-16 | {"rows": [{"id": 1, "x": 2}, {"id": 3, "x": 4}]}   | {"path": "rows", "map": {"omit": ["id"]}}    | [{"x": 2}, {"x": 4}]     |
        | BUS-16 | {"rows": [], "x": 4}                               | {"path": "rows", "map": {"pick": ["id"]}}    | []                       |
        | BUS-16 | {"rows": [{"id": 0, "x": 2}, {"id": "", "x": 4}]}  | {"path": "rows", "map": {"pick": ["id"]}}    | [{"id": 0}, {"id": ""}]  |

      Examples: together
        | rule   | value                                               | output                                | result                   |
        | BUS-17 | {"alpha": {"beta": 5, "delta": 6}, "beta": 7}        | {"path": "alpha", "pick": ["beta"]}   | {"beta": 5}              |
        | BUS-17 | {"alpha": {"beta": 5, "delta": 6}, "beta": 7}        | {"path": "alpha", "omit": ["beta"]}   | {"delta": 6}             |

      @level:should
      Examples: path and map
        | rule   | value                                               | output                                    | result                 |
        | BUS-17 | {"rows": [{"id": 1, "x": 2}], "id": 9}               | {"path": "rows", "map": {"pick": ["id"]}} | [{"id": 1}]            |

  @BUS-14
  Rule: Keys that are not there do not bring the others back

    Scenario: A pick of a key that is missing does not keep the rest
      Given an MCP server
      And a call of the echo probe with {"alpha": 0, "gamma": 1}
      And the output is {"pick": ["missing"]}
      When the client makes the call
      Then the result is not the whole value

  @BUS-18
  Rule: Without output nothing is left out

    Scenario: The whole result comes back
      Given an MCP server
      And a call of the echo probe with {"alpha": {"beta": [1, 2, 3]}, "gamma": 1, "delta": "x"}
      When the client makes the call
      Then each result is the value of its call

  @BUS-19
  Rule: Output shapes the result and leaves the envelope alone

    Scenario Outline: The envelope <property> when the result is shaped
      Given an MCP server
      And a call of the echo probe with {"alpha": 0, "gamma": 1}
      And the output is {"pick": ["gamma"]}
      When the client makes the call
      Then the response <property>

      Examples:
        | property            |
        | names the tool      |
        | has its action      |
        | has its trace       |

    Scenario Outline: The envelope <property> when keys of its own names are omitted
      Given an MCP server
      And a call of the echo probe with {"tool": "x", "action": "y", "trace": "z", "alpha": 1}
      And the output is {"omit": ["tool", "action", "trace"]}
      When the client makes the call
      Then the response <property>

      Examples:
        | property       |
        | names the tool |
        | has its action |
        | has its trace  |

  @BUS-20
  Rule: Every tool's result can be shaped

    Scenario Outline: The result of the <probe> probe is shaped
      Given an MCP server
      And a call of the <probe> probe
      And the output picks one key of the result
      When the client makes the call
      Then the result has only the key that was picked

      @cap:probe.first-other
      Examples:
        | probe       |
        | first other |

      @cap:probe.second-other
      Examples: a further tool
        | probe        |
        | second other |

      @cap:probe.partial
      Examples: a result that calls for a follow-up
        | probe   |
        | partial |

  @BUS-21
  Rule: A shape that does not fit never gives the whole result

    Scenario Outline: <output> does not give back <value>
      Given an MCP server
      And a call of the echo probe with <value>
      And the output is <output>
      When the client makes the call
      Then the result is not the whole value

      Examples:
        | value                              | output                                         |
        | {"alpha": {"beta": 5}, "gamma": 1} | {"path": "missing"}                            |
        | {"alpha": {"beta": 5}, "gamma": 1} | {"path": "missing.deeper"}                     |
        | {"alpha": {"id": 5}, "gamma": 1}   | {"path": "alpha", "map": {"pick": ["id"]}}     |
        | {"alpha": {"id": 5, "x": 1}, "gamma": {"id": 6, "x": 2}} | {"map": {"pick": ["id"]}} |

      Examples: a path that ends too early
        | value                             | output                   |
        | {"rows": [{"id": 7}], "gamma": 1} | {"path": "rows[9]"}      |
        | {"rows": [{"id": 7}], "gamma": 1} | {"path": "rows.id"}      |
        | {"alpha": 0, "gamma": 1}          | {"path": "gamma.deeper"} |
        | {"alpha": "x", "gamma": 1}        | {"path": "alpha.deeper"} |

  Rule: Each form does all that it is asked for

    Scenario Outline: All of <output> over <value> gives <result>
      Given an MCP server
      And a call of the echo probe with <value>
      And the output is <output>
      When the client makes the call
      Then the result is <result>

      Examples: path
        | rule   | value                                                           | output                        | result |
        | BUS-13 | {"rows": [{"id": 7, "x": 1}, {"id": 8, "x": 2}]}                | {"path": "rows[0].id"}        | 7      |
        | BUS-13 | {"alpha": {"beta": {"delta": 5, "x": 6}, "x": 7}, "gamma": 1}   | {"path": "alpha.beta.delta"}  | 5      |
        | BUS-13 | {"rows": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, "ten", 11], "gamma": 1} | {"path": "rows[10]"}          | "ten"  |

      Examples: pick and omit
        | rule   | value                                           | output                                | result                             |
        | BUS-14 | {"alpha": 0, "beta": 1, "gamma": 2, "delta": 3} | {"pick": ["delta", "alpha", "gamma"]} | {"alpha": 0, "gamma": 2, "delta": 3} |
        | BUS-15 | {"alpha": 0, "beta": 1, "gamma": 2, "delta": 3} | {"omit": ["delta", "alpha", "gamma"]} | {"beta": 1}                        |
        | BUS-15 | {"alpha": 0, "gamma": 1}                        | {"omit": ["alpha", "gamma"]}          | {}                                 |

      Examples: map
        | rule   | value                                                                                          | output                                    | result                                                                              |
        | BUS-16 | {"rows": [{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}, {"id": 5}, {"id": 6}, {"id": 7}], "x": 4} | {"path": "rows", "map": {"pick": ["id"]}} | [{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}, {"id": 5}, {"id": 6}, {"id": 7}] |
        | BUS-16 | {"rows": [{"id": 2, "x": 1}, {"id": 1, "x": 2}, {"id": 2, "x": 3}], "x": 4}                    | {"path": "rows", "map": {"pick": ["id"]}} | [{"id": 2}, {"id": 1}, {"id": 2}]                                                   |

      @level:should
      Examples: pick and omit together
        | rule   | value                                                     | output                                                            | result       |
        | BUS-17 | {"alpha": 0, "gamma": 1, "delta": 2}                      | {"pick": ["gamma", "alpha"], "omit": ["gamma"]}                   | {"alpha": 0} |
        | BUS-17 | {"alpha": {"beta": 5, "delta": 6, "eta": 7}, "gamma": 1}  | {"path": "alpha", "pick": ["beta", "eta"], "omit": ["eta"]}       | {"beta": 5}  |

  @BUS-18
  Rule: What one call asks for shapes no other

    Scenario Outline: After a call with <output> the same call without output gives everything
      Given an MCP server of its own
      And a call of the echo probe with {"alpha": {"beta": [1, 2, 3]}, "gamma": 1, "delta": "x"}
      And the output is <output>
      And the client has made the call
      And a call of the echo probe with {"alpha": {"beta": [1, 2, 3]}, "gamma": 1, "delta": "x"}
      When the client makes the call
      Then the envelope carries the value

      Examples:
        | output              |
        | {"pick": ["gamma"]} |
        | {"omit": ["alpha"]} |
        | {"path": "alpha"}   |

  Rule: Keys are what they are

    Scenario Outline: Of <value> the output <output> gives <result>
      Given an MCP server
      And a call of the echo probe with <value>
      And the output is <output>
      When the client makes the call
      Then the result is <result>

      Examples:
        | rule   | value                                    | output                        | result                       |
        | BUS-12 | {"alpha": 1, "Alpha": 2}                 | {"path": "Alpha"}             | 2                            |
        | BUS-12 | {"alpha": 1, "alpha_2": 2, "alpha2": 3}  | {"path": "alpha_2"}           | 2                            |
        | BUS-14 | {"größe": 1, "gre": 2, "alpha_2": 3}     | {"pick": ["größe", "alpha_2"]} | {"größe": 1, "alpha_2": 3}  |
        | BUS-15 | {"größe": 1, "gre": 2, "alpha_2": 3}     | {"omit": ["größe", "alpha_2"]} | {"gre": 2}                  |

      Examples: words that programs have for other things, and a key that is there twice
        | rule   | value                                       | output               | result |
        | BUS-12 | {"count": 5, "items": [6], "x": 7}          | {"path": "count"}    | 5      |
        | BUS-12 | {"count": 5, "items": [6], "x": 7}          | {"path": "items"}    | [6]    |
        | BUS-12 | {"length": 5, "keys": {"x": 6}, "size": 7}  | {"path": "keys"}     | {"x": 6} |
        | BUS-12 | {"length": 5, "keys": {"x": 6}, "size": 7}  | {"path": "length"}   | 5      |
        | BUS-12 | {"delta": {"alpha": 1}, "alpha": 2}         | {"path": "alpha"}    | 2      |
        | BUS-12 | {"alpha": " x ", "gamma": 1}                | {"path": "alpha"}    | " x "  |

      Examples: nested keys with a hyphen or of digits
        | rule   | value                                       | output                    | result |
        | BUS-13 | {"alpha": {"foo-bar": 5, "foo": 6}, "x": 7} | {"path": "alpha.foo-bar"} | 5      |
        | BUS-13 | {"alpha": {"2024": 5, "foo": 6}, "x": 7}    | {"path": "alpha.2024"}    | 5      |

  @BUS-18
  Rule: What one call picks is missing from no later result

    Scenario Outline: After a pick the result of the <probe> probe is whole again
      Given an MCP server of its own
      And a call of the <probe> probe
      And the output picks one key of the result
      And the client has made the call
      And a call of the <probe> probe
      When the client makes the call
      Then the result has more than the key that was picked before

      @cap:probe.first-other
      Examples:
        | probe       |
        | first other |

      @cap:probe.second-other
      Examples: a further tool
        | probe        |
        | second other |

      @cap:probe.partial
      Examples: a result that calls for a follow-up
        | probe   |
        | partial |

  Rule: null, other letters and missing keys are read as what they are

    Scenario Outline: <output> does not give back all of <value>
      Given an MCP server
      And a call of the echo probe with <value>
      And the output is <output>
      When the client makes the call
      Then the result is not the whole value

      Examples:
        | rule   | value                       | output                        |
        | BUS-21 | {"alpha": null, "delta": 1} | {"path": "alpha"}             |
        | BUS-21 | {"größe": 5, "gamma": 1}    | {"path": "größe"}             |
        | BUS-14 | {"alpha": 1, "gamma": 2}    | {"pick": ["alpha", "missing"]} |
        | BUS-15 | {"alpha": 1, "gamma": 2}    | {"omit": ["alpha", "missing"]} |

      Examples: a path to nothing beside another form
        | rule   | value                    | output                                          |
        | BUS-21 | {"alpha": 1, "gamma": 2} | {"path": "missing", "omit": ["delta"]}          |
        | BUS-21 | {"alpha": 1, "gamma": 2} | {"path": "missing", "pick": ["alpha", "gamma"]} |

  # A server that bounds a result before it shapes it has nothing left where the path leads to.
  @BUS-13
  Rule: A path reaches what stands in a large result

    Scenario: The first element of a list of 64 KiB
      Given an MCP server of its own for large calls
      And a call of the echo probe with a list of 64 KiB
      And the output is {"path": "much[0]"}
      When the client makes the call
      Then the result is "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx00000000"
