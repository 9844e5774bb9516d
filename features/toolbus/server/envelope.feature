@role:toolbus.server
Feature: A result comes in a stable envelope
  A successful call answers with one text block. Its text is strict JSON: an object with the tool, the
  action, the trace and the results, bounded and without secrets, and a reference to the JSON artifact
  where there is a context root.

  Rule: The response is one text block of strict JSON with stable keys

    Scenario Outline: The response of the <probe> probe <property>
      Given an MCP server
      And a call of the <probe> probe
      When the client makes the call
      Then the response <property>

      Examples:
        | rule   | probe | property              |
        | BUS-39 | echo  | has one content block |
        | BUS-40 | echo  | is a text block       |
        | BUS-41 | echo  | is strict JSON        |
        | BUS-42 | echo  | names the tool        |
        | BUS-43 | echo  | has its action        |
        | BUS-44 | echo  | has its trace         |
        | BUS-46 | echo  | has the stable keys   |

      @cap:probe.first-other
      Examples: another tool
        | rule   | probe       | property              |
        | BUS-39 | first other | has one content block |
        | BUS-40 | first other | is a text block       |
        | BUS-41 | first other | is strict JSON        |
        | BUS-42 | first other | names the tool        |
        | BUS-43 | first other | has its action        |
        | BUS-44 | first other | has its trace         |
        | BUS-46 | first other | has the stable keys   |

      @cap:probe.second-other
      Examples: a third tool
        | rule   | probe        | property              |
        | BUS-39 | second other | has one content block |
        | BUS-40 | second other | is a text block       |
        | BUS-41 | second other | is strict JSON        |
        | BUS-42 | second other | names the tool        |
        | BUS-43 | second other | has its action        |
        | BUS-44 | second other | has its trace         |
        | BUS-46 | second other | has the stable keys   |

      @cap:probe.third-other
      Examples: another action
        | rule   | probe       | property       |
        | BUS-42 | third other | names the tool |
        | BUS-43 | third other | has its action |

      @cap:probe.state
      Examples: the state
        | rule   | probe | property              |
        | BUS-39 | state | has one content block |
        | BUS-41 | state | is strict JSON        |
        | BUS-42 | state | names the tool        |
        | BUS-43 | state | has its action        |
        | BUS-46 | state | has the stable keys   |

      @cap:probe.partial
      Examples: a result that calls for a follow-up
        | rule   | probe   | property              |
        | BUS-39 | partial | has one content block |
        | BUS-41 | partial | is strict JSON        |
        | BUS-46 | partial | has the stable keys   |

      @cap:probe.secret
      Examples: a result with secrets
        | rule   | probe  | property              |
        | BUS-39 | secret | has one content block |
        | BUS-41 | secret | is strict JSON        |

      @cap:probe.large
      Examples: a large result
        | rule   | probe | property              |
        | BUS-39 | large | has one content block |
        | BUS-41 | large | is strict JSON        |

    @BUS-41
    Scenario: Whatever stands in a result, the text is strict JSON
      Given an MCP server
      And a call of the echo probe with {"lines": "one\ntwo\t\"three\" \\ four", "control": "\u0001\u001f"}
      When the client makes the call
      Then the response is strict JSON

    @cap:probe.large
    Scenario Outline: The response of a large result <property>
      Given an MCP server of its own for large calls
      And a call of the large probe for 1024 KiB
      When the client makes the call
      Then the response <property>

      Examples:
        | rule   | property              |
        | BUS-39 | has one content block |
        | BUS-40 | is a text block       |
        | BUS-41 | is strict JSON        |
        | BUS-46 | has the stable keys   |

    @BUS-39
    Scenario: A call that shapes and stores has one content block too
      Given an MCP server
      And a call of the echo probe with {"alpha": 0, "gamma": 1}
      And the output is {"pick": ["gamma"]}
      And the result is stored under "key-7"
      When the client makes the call
      Then the response has one content block

    @BUS-46
    Scenario: The same call has the same keys each time
      Given an MCP server
      And a call of the echo probe
      When the client makes the call twice
      Then the envelopes have the same keys

    @BUS-46
    Scenario Outline: So has that of the <probe> probe, from the first one on
      Given an MCP server of its own
      And a call of the <probe> probe
      When the client makes the call twice
      Then the envelopes have the same keys

      @cap:probe.first-other
      Examples:
        | probe       |
        | first other |

      @cap:probe.second-other
      Examples: a third tool
        | probe        |
        | second other |

  @BUS-45
  Rule: The envelope carries the result

    Scenario Outline: <value> is in the envelope
      Given an MCP server
      And a call of the echo probe with <value>
      When the client makes the call
      Then the envelope carries the value

      Examples:
        | value                                           |
        | {"alpha": "été \\"quoted\\"", "list": [1, [2]]} |
        | {"none": null, "no": false, "zero": 0}          |
        | {"empty": {}, "list": [], "text": ""}           |
        | {"large": 4294967297, "small": -5000000000, "wave": "🌊 ∞", "half": 0.5} |

  @BUS-47 @cap:probe.large
  Rule: The envelope is bounded

    Scenario: Four times the result does not give four times the text
      Given an MCP server of its own for large calls
      And a call of the large probe for 1024 KiB
      And the client has made the call
      And a call of the large probe for 4096 KiB
      When the client makes the call
      Then the texts are bounded

    Scenario Outline: Neither does a large <shape>
      Given an MCP server of its own for large calls
      And a call of the echo probe with a <shape> of 768 KiB
      And the client has made the call
      And a call of the echo probe with a <shape> of 3072 KiB
      When the client makes the call
      Then the texts are bounded

      Examples:
        | shape                    |
        | list                     |
        | object                   |
        | list of lists            |
        | object with one long key |

    Scenario: Neither does the mode "compact"
      Given an MCP server of its own for large calls
      And a call of the large probe for 1024 KiB
      And the argument "response_mode" is "compact"
      And the client has made the call
      And a call of the large probe for 4096 KiB
      And the argument "response_mode" is "compact"
      When the client makes the call
      Then the texts are bounded

    Scenario: Neither does a result that is stored
      Given an MCP server of its own for large calls
      And a call of the large probe for 240 KiB
      And the result is stored under "key-8"
      And the client has made the call
      And a call of the large probe for 960 KiB
      And the result is stored under "key-8"
      When the client makes the call
      Then the texts are bounded

    Scenario: Neither does what a path selects
      Given an MCP server of its own for large calls
      And a call of the echo probe with a string of 768 KiB
      And the output is {"path": "much"}
      And the client has made the call
      And a call of the echo probe with a string of 3072 KiB
      And the output is {"path": "much"}
      When the client makes the call
      Then the texts are bounded

    Scenario: Neither does what a pick keeps
      Given an MCP server of its own for large calls
      And a call of the echo probe with a string of 768 KiB
      And the output is {"pick": ["much"]}
      And the client has made the call
      And a call of the echo probe with a string of 3072 KiB
      And the output is {"pick": ["much"]}
      When the client makes the call
      Then the texts are bounded

  @BUS-48 @cap:probe.secret
  Rule: The envelope shows no secret

    Scenario: Values under keys of secrets are not shown
      Given an MCP server
      And a call of the secret probe
      When the client makes the call
      Then no secret is in the response

    Scenario: Nor in the mode "compact"
      Given an MCP server
      And a call of the secret probe
      When the client makes the call in "compact" mode
      Then no secret is in the response

    Scenario: Nor when the result is stored
      Given an MCP server
      And a call of the secret probe
      And the result is stored under "key-8"
      When the client makes the call
      Then no secret is in the response

    @cap:probe.state
    Scenario: Nor when it is read back from the state
      Given an MCP server
      And a call of the secret probe
      And the result is stored under "key-8"
      And the client has made the call
      And a call that reads "key-8" from the state
      When the client makes the call
      Then no secret is in the response

  Rule: The envelope points at the JSON artifact where there is one

    @BUS-49 @cap:root
    Scenario: The reference is an artifact uri
      Given an MCP server
      And a call of the echo probe
      And its correlation ids
      When the client makes the call
      Then the envelope points at a JSON artifact

    @BUS-49 @cap:root
    Scenario: So it is without correlation ids
      Given an MCP server
      And a call of the echo probe
      When the client makes the call
      Then the envelope points at a JSON artifact

    @BUS-49 @cap:root
    Scenario: So it is when the result is shaped
      Given an MCP server
      And a call of the echo probe with {"alpha": 0, "gamma": 1}
      And its correlation ids
      And the output is {"pick": ["gamma"]}
      When the client makes the call
      Then the envelope points at a JSON artifact

    @BUS-49 @cap:root
    Scenario: So it is when the result is stored
      Given an MCP server
      And a call of the echo probe
      And its correlation ids
      And the result is stored under "key-8"
      When the client makes the call
      Then the envelope points at a JSON artifact

    @BUS-49 @cap:root
    Scenario: So it is in the mode "compact"
      Given an MCP server
      And a call of the echo probe
      And its correlation ids
      When the client makes the call in "compact" mode
      Then the envelope points at a JSON artifact

    @BUS-49 @cap:root @cap:probe.first-other
    Scenario: So it is for another tool
      Given an MCP server
      And a call of the first other probe
      When the client makes the call
      Then the envelope points at a JSON artifact

    @BUS-50 @cap:root
    Scenario: The reference leads to a JSON document
      Given an MCP server
      And a call of the echo probe
      And its correlation ids
      When the client makes the call
      Then the uri leads to a JSON document below the context root

    @BUS-50 @cap:root
    Scenario: So does that of a call without ids
      Given an MCP server
      And a call of the echo probe
      When the client makes the call
      Then the uri leads to a JSON document below the context root

    @BUS-50 @cap:root
    Scenario: So does that of a shaped result
      Given an MCP server
      And a call of the echo probe with {"alpha": 0, "gamma": 1}
      And its correlation ids
      And the output is {"pick": ["gamma"]}
      When the client makes the call
      Then the uri leads to a JSON document below the context root

    @BUS-50 @cap:root
    Scenario: So does that of a result that is stored
      Given an MCP server
      And a call of the echo probe
      And its correlation ids
      And the result is stored under "key-8"
      When the client makes the call
      Then the uri leads to a JSON document below the context root

    @BUS-50 @cap:root
    Scenario: So does that of a call in the mode "compact"
      Given an MCP server
      And a call of the echo probe
      And its correlation ids
      When the client makes the call in "compact" mode
      Then the uri leads to a JSON document below the context root

    @BUS-50 @cap:root
    Scenario Outline: So does that of the <probe> probe
      Given an MCP server
      And a call of the <probe> probe
      When the client makes the call
      Then the uri leads to a JSON document below the context root

      @cap:probe.first-other
      Examples:
        | probe       |
        | first other |

      @cap:probe.second-other
      Examples: a third tool
        | probe        |
        | second other |

      @cap:probe.state
      Examples: the state
        | probe |
        | state |

      @cap:probe.partial
      Examples: a result that calls for a follow-up
        | probe   |
        | partial |

    @BUS-50 @cap:root @cap:probe.first-other
    Scenario: So does that of another tool's second call
      Given an MCP server
      And a call of the first other probe
      And its correlation ids
      And the client has made the call
      And the argument "span_id" is "sp-02"
      When the client makes the call
      Then the uri leads to a JSON document below the context root

    @BUS-51 @cap:root.none
    Scenario: Without a context root a call still succeeds
      Given an MCP server without a context root
      And a call of the echo probe
      When the client makes the call
      Then the envelope points at no artifact

    @BUS-51 @cap:root.none
    Scenario Outline: So does one of the <probe> probe
      Given an MCP server without a context root
      And a call of the <probe> probe
      When the client makes the call
      Then the envelope points at no artifact

      @cap:probe.first-other
      Examples:
        | probe       |
        | first other |

      @cap:probe.second-other
      Examples: a third tool
        | probe        |
        | second other |

      @cap:probe.partial
      Examples: a result that calls for a follow-up
        | probe   |
        | partial |

  @BUS-47
  Rule: The envelope is bounded whatever became of the result

    Scenario Outline: <output> over a large list does not make it grow
      Given an MCP server of its own for large calls
      And a call of the echo probe with a list of 768 KiB
      And the output is <output>
      And the client has made the call
      And a call of the echo probe with a list of 3072 KiB
      And the output is <output>
      When the client makes the call
      Then the texts are bounded

      Examples:
        | output                       |
        | {"omit": ["alpha"]}          |
        | {"path": "much", "map": {}}  |

    @cap:probe.large @cap:probe.state
    Scenario: Neither does a large result that is read back from the state
      Given an MCP server of its own for large calls
      And a call of the large probe for 1024 KiB
      And the result is stored under "key-8"
      And the client has made the call
      And a call of the large probe for 4096 KiB
      And the result is stored under "key-8"
      And the client has made the call
      And a call that reads "key-8" from the state
      When the client makes the call
      Then the texts are bounded

  @BUS-49 @cap:root.second
  Rule: It points at the JSON artifact by whichever name the root is configured

    Scenario: So it is under the second name alone
      Given an MCP server whose context root is configured under the second name alone
      And a call of the echo probe with {"root": "second"}
      And its correlation ids
      When the client makes the call
      Then the envelope points at a JSON artifact

  @BUS-46 @cap:probe.fail
  Rule: A failure leaves no trace in later envelopes

    Scenario: After a call that fails the envelope has the keys that it had before
      Given an MCP server of its own
      And a call of the echo probe
      And the client has made the call
      And a call of the fail probe
      And the client has made the call
      And a call of the echo probe
      When the client makes the call
      Then the envelopes have the same keys

  @BUS-51 @cap:root.none
  Rule: What a call may ask for needs no context root

    Scenario: A call with correlation ids succeeds without one, too
      Given an MCP server without a context root
      And a call of the echo probe
      And its correlation ids
      When the client makes the call
      Then the envelope points at no artifact

    Scenario: So does one whose result is shaped
      Given an MCP server without a context root
      And a call of the echo probe with {"alpha": 0, "gamma": 1}
      And the output is {"pick": ["gamma"]}
      When the client makes the call
      Then the envelope points at no artifact

  @BUS-48 @cap:probe.secret
  Rule: The envelope shows no secret, whatever it is and wherever it stands

    Scenario Outline: A secret that is <what>
      Given an MCP server
      And a call of the echo probe with <value>
      When the client makes the call
      Then the response shows no secret of the call's arguments

      Examples:
        | what                | value                                                                                    |
        | a number            | {"password": 8151623420815, "user": "pilot"}                                             |
        | a fraction          | {"password": 0.8151623420815, "user": "pilot"}                                           |
        | an object three down | {"password": {"live": {"keys": {"main": "hush-three-below"}}}, "user": "pilot"}        |
        | a list three down   | {"password": [[["hush-in-lists"]]], "user": "pilot"}                                     |
        | of another scheme   | {"headers": {"Authorization": "Basic aHVzaC1vZi1iYXNpYw=="}, "user": "pilot"}            |
        | of no scheme        | {"headers": {"Authorization": "hush-of-no-scheme"}, "user": "pilot"}                     |
        | a list              | {"password": ["hush-in-a-list"], "user": "pilot"}                                        |
        | an object           | {"api_key": {"live": "hush-in-a-member"}, "user": "pilot"}                               |
        | below other objects | {"depot": {"dock": {"crane": {"motor": {"password": "hush-far-below"}}}}, "user": "pilot"} |
        | in a second element | {"accounts": [{"user": "pilot"}, {"user": "mate", "password": "hush-in-second"}]}         |
        | in a list of lists  | {"accounts": [[{"user": "pilot", "api_key": "hush-in-lists-of-lists"}]]}                  |
        | in a fifth element  | {"accounts": [{"user": "a"}, {"user": "b"}, {"user": "c"}, {"user": "d"}, {"user": "e", "password": "hush-in-fifth"}]} |

    Scenario: A secret in the last of thirty elements
      Given an MCP server
      And a call of the echo probe with a secret in the last of 30 accounts
      When the client makes the call
      Then no secret is in the answer

    Scenario Outline: A secret in a result that is shaped by <output>
      Given an MCP server
      And a call of the echo probe with a secret under "password"
      And the output is <output>
      When the client makes the call
      Then no secret is in the answer

      Examples:
        | output                 |
        | {"pick": ["password"]} |
        | {"omit": ["user"]}     |

    @cap:probe.break-glass
    Scenario: A secret of a call that does not ask for it, after one that did
      Given an MCP server
      And a call of the break-glass probe
      And the break-glass flag is set
      And the client has made the call
      And a call of the break-glass probe
      When the client makes the call
      Then no secret is in the response

    @cap:probe.break-glass
    Scenario: A secret of a call whose break-glass flag is false
      Given an MCP server
      And a call of the break-glass probe
      And the break-glass flag is false
      When the client makes the call
      Then no secret is in the response

  # What is left of a secret where only its beginning is hidden stands under a key of its own as well, so that it is known.
  @BUS-48
  Rule: The envelope shows no part of a secret, however it is written and however many keys stand around it

    Scenario Outline: A secret <what>
      Given an MCP server
      And a call of the echo probe with <value>
      When the client makes the call
      Then the response shows no secret of the call's arguments

      Examples:
        | what | value |
        | in base64 | {"password": "hush-one+hush-plus/hush==", "authorization": "Bearer hush-two+hush-plus/hush==", "client_secret": "hush-plus", "user": "pilot"} |
        | with a quote in it | {"password": "hush-one\\"hush-quoted", "client_secret": "hush-quoted", "user": "pilot"} |
        | of several lines | {"client_secret": "-----BEGIN KEY-----\\nhush-key-one\\nhush-key-two\\n-----END KEY-----", "password": ["hush-key-one", "hush-key-two"], "user": "pilot"} |
        | of more than 200 letters | {"password": "hush-a01-long-secret-a02-long-secret-a03-long-secret-a04-long-secret-a05-long-secret-a06-long-secret-a07-long-secret-a08-long-secret-a09-long-secret-a10-long-secret-a11-long-secret-a12-long-secret-a13-long-secret-a14-long-secret-a15-long-secret-a16-long-secret-a17-long-secret-a18-long-secret", "user": "pilot"} |
        | a dozen objects down | {"depot": {"dock": {"crane": {"motor": {"shaft": {"wheel": {"tooth": {"steel": {"grain": {"lattice": {"atom": {"shell": {"orbit": {"password": "hush-at-the-bottom"}}}}}}}}}}}}}, "user": "pilot"} |
        | after sixty other keys | {"k01": 1, "k02": 2, "k03": 3, "k04": 4, "k05": 5, "k06": 6, "k07": 7, "k08": 8, "k09": 9, "k10": 10, "k11": 11, "k12": 12, "k13": 13, "k14": 14, "k15": 15, "k16": 16, "k17": 17, "k18": 18, "k19": 19, "k20": 20, "k21": 21, "k22": 22, "k23": 23, "k24": 24, "k25": 25, "k26": 26, "k27": 27, "k28": 28, "k29": 29, "k30": 30, "k31": 31, "k32": 32, "k33": 33, "k34": 34, "k35": 35, "k36": 36, "k37": 37, "k38": 38, "k39": 39, "k40": 40, "k41": 41, "k42": 42, "k43": 43, "k44": 44, "k45": 45, "k46": 46, "k47": 47, "k48": 48, "k49": 49, "k50": 50, "k51": 51, "k52": 52, "k53": 53, "k54": 54, "k55": 55, "k56": 56, "k57": 57, "k58": 58, "k59": 59, "k60": 60, "password": "hush-after-sixty", "user": "pilot"} |

  # What was cut off from its key is not known for a secret any more where it is read.
  @BUS-48 @cap:probe.secret @cap:probe.state
  Rule: The way through the state shows no secret either

    Scenario: A secret that a path selects, stored and read back
      Given an MCP server
      And a call of the echo probe with a secret under "password"
      And the output is {"path": "password"}
      And the result is stored under "key-8"
      And the client has made the call
      And a call that reads "key-8" from the state
      When the client makes the call
      Then no secret is in the answer

  @BUS-45 @cap:probe.large
  Rule: After a large result a small one is whole

    Scenario: The value of a small call comes back after a large one
      Given an MCP server of its own
      And a call of the large probe for 240 KiB
      And the client has made the call
      And a call of the echo probe with {"alpha": {"beta": [1, 2, 3]}, "gamma": 1}
      When the client makes the call
      Then the envelope carries the value

  @BUS-49 @cap:root
  Rule: It points at the JSON artifact of each tool

    Scenario Outline: The envelope of the <probe> probe does
      Given an MCP server
      And a call of the <probe> probe
      When the client makes the call
      Then the envelope points at a JSON artifact

      @cap:probe.second-other
      Examples:
        | probe        |
        | second other |

      @cap:probe.third-other
      Examples: another action
        | probe       |
        | third other |

      @cap:probe.state
      Examples: the state
        | probe |
        | state |

      @cap:probe.partial
      Examples: a result that calls for a follow-up
        | probe   |
        | partial |

      @cap:probe.large
      Examples: the tool of large results
        | probe |
        | large |

      @cap:probe.break-glass
      Examples: the tool that may break the glass
        | probe       |
        | break-glass |

  @BUS-51 @cap:root.none
  Rule: No tool and no mode needs a context root

    Scenario: A call in the mode "compact" succeeds without one
      Given an MCP server without a context root
      And a call of the echo probe
      When the client makes the call in "compact" mode
      Then the envelope points at no artifact

    Scenario Outline: A call of the <probe> probe succeeds without one
      Given an MCP server without a context root
      And a call of the <probe> probe
      When the client makes the call
      Then the envelope points at no artifact

      @cap:probe.third-other
      Examples:
        | probe       |
        | third other |

      @cap:probe.large
      Examples: the tool of large results
        | probe |
        | large |

      @cap:probe.break-glass
      Examples: the tool that may break the glass
        | probe       |
        | break-glass |

  @BUS-48 @cap:probe.secret
  Rule: The envelope shows no secret of a large result

    Scenario Outline: A secret in the <which> of fifty thousand elements
      Given an MCP server of its own for large calls
      And a call of the echo probe with a secret in the <which> of 50000 accounts
      When the client makes the call
      Then no secret is in the answer

      Examples:
        | which |
        | first |
        | last  |
