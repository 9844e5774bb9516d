@role:toolbus.artifacts
Feature: Artifacts are bounded and hold no secrets
  Whatever a tool gives back, its artifacts stay small and show no value that stood under the key of a
  secret, unless the caller breaks the glass that the tool offers for that.

  @cap:root
  Rule: Artifacts are bounded

    Scenario Outline: The <form> artifact of a large result does not grow with it
      Given an MCP server of its own for large calls
      And a call of the large probe for 1024 KiB
      And its correlation ids
      And the client has made the call
      And a call of the large probe for 4096 KiB
      And its correlation ids
      And the argument "span_id" is "sp-02"
      When the client makes the call
      Then the <form> artifacts are bounded

      @cap:probe.large
      Examples:
        | rule   | form |
        | BUS-62 | text |
        | BUS-63 | JSON |

    Scenario Outline: The <form> artifact of a large <shape> does not grow with it
      Given an MCP server of its own for large calls
      And a call of the echo probe with a <shape> of 768 KiB
      And its correlation ids
      And the client has made the call
      And a call of the echo probe with a <shape> of 3072 KiB
      And its correlation ids
      And the argument "span_id" is "sp-02"
      When the client makes the call
      Then the <form> artifacts are bounded

      Examples:
        | rule   | form | shape         |
        | BUS-62 | text | string        |
        | BUS-62 | text | list          |
        | BUS-62 | text | object        |
        | BUS-63 | JSON | string        |
        | BUS-63 | JSON | list          |
        | BUS-63 | JSON | object        |
        | BUS-62 | text | list of lists |
        | BUS-63 | JSON | list of lists |
        | BUS-62 | text | object with one long key |
        | BUS-63 | JSON | object with one long key |

    @cap:probe.large
    Scenario Outline: Nor does the <form> artifact of a call in the mode "compact"
      Given an MCP server of its own for large calls
      And a call of the large probe for 1024 KiB
      And its correlation ids
      And the argument "response_mode" is "compact"
      And the client has made the call
      And a call of the large probe for 4096 KiB
      And its correlation ids
      And the argument "span_id" is "sp-02"
      And the argument "response_mode" is "compact"
      When the client makes the call
      Then the <form> artifacts are bounded

      Examples:
        | rule   | form |
        | BUS-62 | text |
        | BUS-63 | JSON |

    @cap:probe.large
    Scenario Outline: Nor does the <form> artifact of a result that is stored
      Given an MCP server of its own for large calls
      And a call of the large probe for 240 KiB
      And its correlation ids
      And the result is stored under "key-8"
      And the client has made the call
      And a call of the large probe for 960 KiB
      And its correlation ids
      And the argument "span_id" is "sp-02"
      And the result is stored under "key-8"
      When the client makes the call
      Then the <form> artifacts are bounded

      Examples:
        | rule   | form |
        | BUS-62 | text |
        | BUS-63 | JSON |

    Scenario Outline: Nor does the <form> artifact of what a path selects
      Given an MCP server of its own for large calls
      And a call of the echo probe with a string of 768 KiB
      And its correlation ids
      And the output is {"path": "much"}
      And the client has made the call
      And a call of the echo probe with a string of 3072 KiB
      And its correlation ids
      And the argument "span_id" is "sp-02"
      And the output is {"path": "much"}
      When the client makes the call
      Then the <form> artifacts are bounded

      Examples:
        | rule   | form |
        | BUS-62 | text |
        | BUS-63 | JSON |

    @level:should
    Scenario Outline: Nor does the <form> artifact of a call of the <probe> probe, which fails, grow with its arguments
      Given an MCP server of its own for large calls
      And a call of the <probe> probe
      And its correlation ids
      And a string of 768 KiB among its arguments
      And the client has made the call
      And a call of the <probe> probe
      And its correlation ids
      And the argument "span_id" is "sp-02"
      And a string of 3072 KiB among its arguments
      When the client makes the call
      Then the <form> artifacts are bounded

      @cap:probe.invalid
      Examples:
        | rule   | form | probe   |
        | BUS-62 | text | invalid |
        | BUS-63 | JSON | invalid |

      @cap:probe.fail
      Examples: at run time
        | rule   | form | probe |
        | BUS-62 | text | fail  |
        | BUS-63 | JSON | fail  |

  @cap:root @cap:probe.secret
  Rule: Artifacts hold no secret

    Scenario Outline: The <form> artifact does not hold the secret under "<place>"
      Given an MCP server
      And a call of the secret probe with a secret under "<place>"
      And its correlation ids
      When the client makes the call
      Then the <form> artifact does not hold the secret under "<place>"

      Examples:
        | rule   | form | place         |
        | BUS-64 | text | password      |
        | BUS-64 | text | api_key       |
        | BUS-64 | text | authorization |
        | BUS-64 | text | nested        |
        | BUS-65 | JSON | password      |
        | BUS-65 | JSON | api_key       |
        | BUS-65 | JSON | authorization |
        | BUS-65 | JSON | nested        |

    Scenario Outline: Nor does the <form> artifact of a call in the mode "compact"
      Given an MCP server
      And a call of the secret probe with a secret under "password"
      And its correlation ids
      When the client makes the call in "compact" mode
      Then the <form> artifact does not hold the secret under "password"

      Examples:
        | rule   | form |
        | BUS-64 | text |
        | BUS-65 | JSON |

    Scenario Outline: Nor does the <form> artifact of a result that is stored
      Given an MCP server
      And a call of the secret probe with a secret under "password"
      And its correlation ids
      And the result is stored under "key-8"
      When the client makes the call
      Then the <form> artifact does not hold the secret under "password"

      Examples:
        | rule   | form |
        | BUS-64 | text |
        | BUS-65 | JSON |

    # The document says of results, and not of the state, that they are redacted (ambiguity A6); what a call reads from it
    # is a result.
    @cap:probe.state
    Scenario Outline: Nor does the <form> artifact of a call that reads it back from the state
      Given an MCP server
      And a call of the secret probe with a secret under "password"
      And the result is stored under "key-8"
      And the client has made the call
      And a call that reads "key-8" from the state
      And its correlation ids
      When the client makes the call
      Then the <form> artifact does not hold the secret under "password"

      Examples:
        | rule   | form |
        | BUS-64 | text |
        | BUS-65 | JSON |

    # With every other call, those of these are searched for what they were given (every-artifact.feature).
    Scenario Outline: A call with <what> under the key of a secret leaves a <form> artifact, too
      Given an MCP server
      And a call of the echo probe with <value>
      And its correlation ids
      When the client makes the call
      Then the call leaves a <form> artifact

      Examples:
        | rule   | form | what      | value                                                    |
        | BUS-52 | text | a list    | {"password": ["hush-in-a-list"], "user": "pilot"}        |
        | BUS-53 | JSON | a list    | {"password": ["hush-in-a-list"], "user": "pilot"}        |
        | BUS-52 | text | an object | {"api_key": {"live": "hush-in-a-member"}, "user": "pilot"} |
        | BUS-53 | JSON | an object | {"api_key": {"live": "hush-in-a-member"}, "user": "pilot"} |
        | BUS-52 | text | a list of objects | {"password": [{"old": "hush-in-old-one"}, {"old": "hush-in-old-two"}], "user": "pilot"} |
        | BUS-53 | JSON | a list of objects | {"password": [{"old": "hush-in-old-one"}, {"old": "hush-in-old-two"}], "user": "pilot"} |

    Scenario Outline: So does one with a secret <where>
      Given an MCP server
      And a call of the echo probe with <value>
      And its correlation ids
      When the client makes the call
      Then the call leaves a <form> artifact

      Examples:
        | rule   | form | where               | value                                                                                   |
        | BUS-52 | text | below other objects | {"depot": {"dock": {"crane": {"motor": {"password": "hush-far-below"}}}}, "user": "pilot"} |
        | BUS-53 | JSON | below other objects | {"depot": {"dock": {"crane": {"motor": {"password": "hush-far-below"}}}}, "user": "pilot"} |
        | BUS-52 | text | in a second element | {"accounts": [{"user": "pilot"}, {"user": "mate", "password": "hush-in-second"}]}         |
        | BUS-53 | JSON | in a second element | {"accounts": [{"user": "pilot"}, {"user": "mate", "password": "hush-in-second"}]}         |
        | BUS-52 | text | in a list of lists  | {"accounts": [[{"user": "pilot", "api_key": "hush-in-lists-of-lists"}]]}                  |
        | BUS-53 | JSON | in a list of lists  | {"accounts": [[{"user": "pilot", "api_key": "hush-in-lists-of-lists"}]]}                  |
        | BUS-52 | text | in a fifth element  | {"accounts": [{"user": "a"}, {"user": "b"}, {"user": "c"}, {"user": "d"}, {"user": "e", "password": "hush-in-fifth"}]} |
        | BUS-53 | JSON | in a fifth element  | {"accounts": [{"user": "a"}, {"user": "b"}, {"user": "c"}, {"user": "d"}, {"user": "e", "password": "hush-in-fifth"}]} |
        | BUS-52 | text | in digits           | {"password": 8151623420815, "user": "pilot"}                                              |
        | BUS-53 | JSON | in digits           | {"password": 8151623420815, "user": "pilot"}                                              |

  @cap:root
  Rule: Artifacts of a call that fails hold no secret either

    @BUS-64 @BUS-65 @level:should
    Scenario Outline: A secret under "<key>" among the arguments of the <probe> probe is not kept
      Given an MCP server of its own
      And a call of the <probe> probe
      And its correlation ids
      And a secret under "<key>" among its arguments
      When the client makes the call
      Then no artifact holds the secret of its arguments

      @cap:probe.invalid
      Examples:
        | probe   | key      |
        | invalid | password |
        | invalid | api_key  |

      @cap:probe.fail
      Examples: at run time
        | probe | key      |
        | fail  | password |

  @BUS-66 @cap:root
  Rule: Shaping is no way round redaction

    Scenario Outline: A path to a secret under "<key>" does not show it
      Given an MCP server
      And a call of the echo probe with a secret under "<key>"
      And its correlation ids
      And the output is {"path": "<key>"}
      When the client makes the call
      Then neither the response nor an artifact holds a secret

      Examples:
        | key           |
        | password      |
        | api_key       |

    Scenario Outline: Neither does a pick of "<key>"
      Given an MCP server
      And a call of the echo probe with a secret under "<key>"
      And its correlation ids
      And the output is {"pick": ["<key>"]}
      When the client makes the call
      Then neither the response nor an artifact holds a secret

      Examples:
        | key      |
        | password |
        | api_key  |

    Scenario Outline: Neither does <output> over a list
      Given an MCP server
      And a call of the echo probe with a secret under "password" in a list
      And its correlation ids
      And the output is <output>
      When the client makes the call
      Then neither the response nor an artifact holds a secret

      Examples:
        | output                                               |
        | {"path": "accounts[0].password"}                     |
        | {"path": "accounts", "map": {"path": "password"}}    |
        | {"path": "accounts", "map": {"pick": ["password"]}}  |
        | {"pick": ["accounts"]}                               |
        | {"omit": ["alpha"]}                                  |

    Scenario Outline: Neither does a pick of "password", be it <what>
      Given an MCP server
      And a call of the echo probe with <value>
      And its correlation ids
      And the output is {"pick": ["password", "user"]}
      When the client makes the call
      Then neither the response nor an artifact holds a secret

      Examples:
        | what      | value                                                       |
        | a list    | {"password": ["hush-in-a-list"], "user": "pilot"}           |
        | an object | {"password": {"live": "hush-in-a-member"}, "user": "pilot"} |

  @BUS-67 @cap:root @cap:probe.break-glass
  Rule: A tool may offer to show secrets to a caller who says so

    Scenario: Without the flag no secret is shown
      Given an MCP server
      And a call of the break-glass probe
      And its correlation ids
      When the client makes the call
      Then neither the response nor an artifact holds a secret

    Scenario: What the flag shows is noted
      Given an MCP server
      And a call of the break-glass probe
      And its correlation ids
      And the break-glass flag is set
      When the client makes the call
      Then whether secrets are shown is noted

  @cap:root
  Rule: Artifacts are bounded whatever became of the result

    Scenario Outline: The <form> artifact of <output> over a large list does not grow with it
      Given an MCP server of its own for large calls
      And a call of the echo probe with a list of 768 KiB
      And its correlation ids
      And the output is <output>
      And the client has made the call
      And a call of the echo probe with a list of 3072 KiB
      And its correlation ids
      And the argument "span_id" is "sp-02"
      And the output is <output>
      When the client makes the call
      Then the <form> artifacts are bounded

      Examples:
        | rule   | form | output                      |
        | BUS-62 | text | {"omit": ["alpha"]}         |
        | BUS-63 | JSON | {"omit": ["alpha"]}         |
        | BUS-62 | text | {"pick": ["much"]}          |
        | BUS-63 | JSON | {"pick": ["much"]}          |
        | BUS-62 | text | {"path": "much", "map": {}} |
        | BUS-63 | JSON | {"path": "much", "map": {}} |

    @cap:probe.large @cap:probe.state
    Scenario Outline: Nor does the <form> artifact of a call that reads a large result back from the state
      Given an MCP server of its own for large calls
      And a call of the large probe for 1024 KiB
      And its correlation ids
      And the result is stored under "key-8"
      And the client has made the call
      And a call of the large probe for 4096 KiB
      And the result is stored under "key-8"
      And the client has made the call
      And a call that reads "key-8" from the state
      And its correlation ids
      And the argument "span_id" is "sp-02"
      When the client makes the call
      Then the <form> artifacts are bounded

      Examples:
        | rule   | form |
        | BUS-62 | text |
        | BUS-63 | JSON |

  @BUS-66 @cap:root
  Rule: Nor is it for other keys of secrets

    Scenario Outline: <output> does not show a secret under "<key>"
      Given an MCP server
      And a call of the echo probe with a secret under "<key>"
      And its correlation ids
      And the output is <output>
      When the client makes the call
      Then neither the response nor an artifact holds a secret

      Examples:
        | key           | output                                 |
        | client_secret | {"pick": ["client_secret", "user"]}    |
        | authorization | {"pick": ["authorization", "user"]}    |
        | client_secret | {"omit": ["missing"]}                  |

  @cap:root
  Rule: Nor is an output that fits nothing a way round redaction

    @BUS-66
    Scenario Outline: <output>, which fits nothing, shows no secret
      Given an MCP server
      And a call of the echo probe with a secret under "password"
      And its correlation ids
      And the output is <output>
      When the client makes the call
      Then no secret is in the answer

      Examples:
        | output                                   |
        | {"path": "missing"}                      |
        | {"path": "password.deeper"}              |
        | {"path": "user", "map": {"pick": ["x"]}} |

    @BUS-64 @BUS-65 @level:should
    Scenario Outline: Nor does <output> bring one into an artifact
      Given an MCP server of its own
      And a call of the echo probe with a secret under "password"
      And its correlation ids
      And the output is <output>
      When the client makes the call
      Then no artifact holds the secret of its arguments

      Examples:
        | output                      |
        | {"path": "missing"}         |
        | {"path": "password.deeper"} |

  # With every other call, those of these are searched for what they were given (every-artifact.feature). What is left of a
  # secret where only its beginning is hidden stands under a key of its own as well, so that it is known.
  @cap:root
  Rule: Artifacts hold no part of a secret, however it is written and however many keys stand around it

    @BUS-53
    Scenario Outline: A call with a secret <what> leaves a JSON artifact, too
      Given an MCP server
      And a call of the echo probe with <value>
      And its correlation ids
      When the client makes the call
      Then the call leaves a JSON artifact

      Examples:
        | what | value |
        | in base64 | {"password": "hush-one+hush-plus/hush==", "authorization": "Bearer hush-two+hush-plus/hush==", "client_secret": "hush-plus", "user": "pilot"} |
        | with a quote in it | {"password": "hush-one\\"hush-quoted", "client_secret": "hush-quoted", "user": "pilot"} |
        | of several lines | {"client_secret": "-----BEGIN KEY-----\\nhush-key-one\\nhush-key-two\\n-----END KEY-----", "password": ["hush-key-one", "hush-key-two"], "user": "pilot"} |
        | of more than 200 letters | {"password": "hush-a01-long-secret-a02-long-secret-a03-long-secret-a04-long-secret-a05-long-secret-a06-long-secret-a07-long-secret-a08-long-secret-a09-long-secret-a10-long-secret-a11-long-secret-a12-long-secret-a13-long-secret-a14-long-secret-a15-long-secret-a16-long-secret-a17-long-secret-a18-long-secret", "user": "pilot"} |
        | a dozen objects down | {"depot": {"dock": {"crane": {"motor": {"shaft": {"wheel": {"tooth": {"steel": {"grain": {"lattice": {"atom": {"shell": {"orbit": {"password": "hush-at-the-bottom"}}}}}}}}}}}}}, "user": "pilot"} |
        | after sixty other keys | {"k01": 1, "k02": 2, "k03": 3, "k04": 4, "k05": 5, "k06": 6, "k07": 7, "k08": 8, "k09": 9, "k10": 10, "k11": 11, "k12": 12, "k13": 13, "k14": 14, "k15": 15, "k16": 16, "k17": 17, "k18": 18, "k19": 19, "k20": 20, "k21": 21, "k22": 22, "k23": 23, "k24": 24, "k25": 25, "k26": 26, "k27": 27, "k28": 28, "k29": 29, "k30": 30, "k31": 31, "k32": 32, "k33": 33, "k34": 34, "k35": 35, "k36": 36, "k37": 37, "k38": 38, "k39": 39, "k40": 40, "k41": 41, "k42": 42, "k43": 43, "k44": 44, "k45": 45, "k46": 46, "k47": 47, "k48": 48, "k49": 49, "k50": 50, "k51": 51, "k52": 52, "k53": 53, "k54": 54, "k55": 55, "k56": 56, "k57": 57, "k58": 58, "k59": 59, "k60": 60, "password": "hush-after-sixty", "user": "pilot"} |

  # The response of such calls is BUS-48's.
  @BUS-64 @BUS-65 @cap:root @cap:probe.break-glass
  Rule: Artifacts show no secret to a caller who does not ask for it

    Scenario: A secret of a call that does not ask for it, after one that did
      Given an MCP server
      And a call of the break-glass probe
      And its correlation ids
      And the break-glass flag is set
      And the client has made the call
      And a call of the break-glass probe
      And its correlation ids
      And the argument "span_id" is "sp-02"
      When the client makes the call
      Then neither the response nor an artifact holds a secret

    Scenario: A secret of a call whose break-glass flag is false
      Given an MCP server
      And a call of the break-glass probe
      And its correlation ids
      And the break-glass flag is false
      When the client makes the call
      Then neither the response nor an artifact holds a secret

  @cap:root @cap:probe.secret
  Rule: Artifacts hold no secret of a large result

    Scenario Outline: The <form> artifact of one with a secret in the <which> of fifty thousand elements
      Given an MCP server of its own for large calls
      And a call of the echo probe with a secret in the <which> of 50000 accounts
      And its correlation ids
      When the client makes the call
      Then the <form> artifact does not hold the secret under "password"

      Examples:
        | rule   | form | which |
        | BUS-64 | text | first |
        | BUS-64 | text | last  |
        | BUS-65 | JSON | first |
        | BUS-65 | JSON | last  |
