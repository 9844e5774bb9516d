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

    Scenario Outline: <value> arrives as it is
      Given an MCP server
      And a call of the echo probe with <value>
      When the client makes the call
      Then each result is the value of its call

      Examples: Values that look like none
        | value                                             |
        | {}                                                |
        | {"truth": false, "other": true}                   |
        | {"count": 0, "other": 1}                          |
        | {"text": "", "other": "x"}                        |
        | {"nothing": null, "other": 1}                     |
        | {"list": [], "object": {}, "other": [0]}          |

      Examples: Numbers
        | value                                             |
        | {"fraction": 0.1, "quarter": -2.25}               |
        | {"small": 1.5e-7, "other": 1}                     |
        | {"whole": 9007199254740991, "other": -2147483649} |

      Examples: Texts and depths
        | value                                             |
        | {"text": "Zażółć — 水 — 👩‍🚀𝄞"}                      |
        | {"digits": "0042.10", "truth": "true"}            |
        | {"blanks": "  two  blanks  "}                     |
        | {"deep": [[[{"a.b": {"c d": [null, [false]]}}]]]} |

      Examples: Texts that look like something else
        | value                                                        |
        | {"text": "cafe\\u0301 A\\u030a", "other": "café Å"}          |
        | {"lines": "one\\r\\ntwo\\nthree\\rfour"}                     |
        | {"markup": "<b>a &amp; b</b> < 'c' & \\"d\\""}               |
        | {"object": "{\\"a\\": 1}", "list": "[1]", "number": "1e3"}   |
        | {"day": "2026-01-02T03:04:05Z", "date": "2026-01-02"}        |
        | {"null": "null", "none": "None", "nothing": "undefined"}     |
        | {"home": "$HOME ${HOME} %PATH% ~/x", "braces": "{{a}} {0} %s"} |
        | {"query": "a+b%20c%2Fd", "address": "https://depot.example/a/?q=1+2&r=%C3%A9#top"} |
        | {"yes": "yes", "off": "off", "hex": "0x1F", "clock": "12:30:45", "home": "~"} |
        | {"tabs": "one\\ttwo", "place": "C:\\\\new\\\\table"}        |

      Examples: Keys and lists that some tidy up
        | value                                                        |
        | {"fooBar": 1, "foo_baz": 2, "foo-qux": 3, "FooQuux": 4}      |
        | {"_id": 1, "$ref": "x", "@type": "y"}                        |
        | {"rows": {"0": "a", "1": "b", "2": "c"}, "other": 1}         |
        | {"item": 1, "Item": 2, "ITEM": 3}                            |
        | {"length": 1, "constructor": "x", "toString": 2, "keys": []} |
        | {"repeated": [1, 1, "a", "a", {}, {}], "other": 1}           |
        | {"unsorted": [3, 1, 2], "words": ["b", "c", "a"]}            |

      Examples: Texts that some take for numbers, formulas or times
        | value                                                        |
        | {"nan": "NaN", "infinity": "-Infinity", "other": 1}          |
        | {"frost": "-5 °C", "sum": "=1+1", "mention": "@depot", "prefix": "+48"} |
        | {"local": "2026-01-02T03:04:05+02:00", "other": 1}           |

      Examples: Digits and letters that some do not keep
        | value                                                        |
        | {"pi": 3.141592653589793, "other": 1}                        |
        | {"line": "one\\n", "lines": "one\\n\\n"}                       |
        | {"curled": "“x” it’s…", "far": "𠀀"}                         |
        | {"unseen": "a\\u200bb\\u00adc", "joined": "d\\u00a0e"}        |

      Examples: Empty items, odd keys, and keys that the bus has, too
        | value                                                        |
        | {"items": ["", "x", [], [1], {}, null], "other": 1}          |
        | {"": 1, "other": 2}                                          |
        | {" a ": 1, "b ": 2}                                          |
        | {"value": 5}                                                 |
        | {"data": [1]}                                                |
        | {"trace_id": "x", "span_id": "y", "output": {"path": "a"}, "store_as": "z", "other": 1} |

    Scenario: The first value again after another one
      Given an MCP server
      And a call of the echo probe with {"turn": "first"}
      And the client has made the call
      And a call of the echo probe with {"turn": "second"}
      And the client has made the call
      And a call of the echo probe with {"turn": "first"}
      When the client makes the call
      Then each result is the value of its call

  @BUS-03
  Rule: A request without a name runs nothing

    @until:2025-11-25
    Scenario: The names of the illustration do not run a tool
      Given an MCP server of its own
      And a call of the echo probe
      When the client sends `tool` and `input` in place of `name` and `arguments`
      Then the call does not succeed

    # Over HTTP a request without a name has none for its header either, and is refused for that.
    @since:2026-07-28 @cap:stdio
    Scenario: Nor do they where a request needs no session
      Given an MCP server over standard input and output
      And a call of the echo probe
      When the client sends `tool` and `input` in place of `name` and `arguments`
      Then the call does not succeed
