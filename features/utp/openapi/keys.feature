@role:utp.openapi
Feature: An OpenAPI executor has its keys from the environment, and keeps them to itself
  Keys are made up for the run, so that whatever shows one has read it. The upstream never repeats a key.

  @cap:jina.search
  Rule: A variable holds the key

    @TDG-4-05
    @cap:jina.auth_env
    Scenario: auth_env names the variable
      Given an OpenAPI executor
      And a command for the search tool
      And its row's "/jina/auth_env" is "CALLMARK_ALT_KEY"
      When the worker sends the command
      Then the request is made with the key in CALLMARK_ALT_KEY

    @TDG-4-05
    @cap:jina.auth_env
    @cap:jina.reader
    Scenario: auth_env names the variable of a reader
      Given an OpenAPI executor
      And a command for the reader tool
      And its row's "/jina/auth_env" is "CALLMARK_ALT_KEY"
      When the worker sends the command
      Then the request is made with the key in CALLMARK_ALT_KEY

    @TDG-4-06
    @cap:jina.key
    Scenario: Without auth_env it is JINA_API_KEY
      Given an OpenAPI executor
      And a command for the search tool
      And its row lacks "/jina/auth_env"
      When the worker sends the command
      Then the request is made with the key in JINA_API_KEY

    @TDG-4-06
    @cap:jina.key
    @cap:jina.reader
    Scenario: Without auth_env it is JINA_API_KEY for a reader too
      Given an OpenAPI executor
      And a command for the reader tool
      And its row lacks "/jina/auth_env"
      When the worker sends the command
      Then the request is made with the key in JINA_API_KEY

    @TDG-4-05
    @cap:jina.auth_env
    Scenario: auth_env names the variable of a POST request
      Given an OpenAPI executor
      And a command for the search tool
      And its row's "/jina/method" is "POST"
      And its row's "/jina/auth_env" is "CALLMARK_ALT_KEY"
      When the worker sends the command
      Then the request is made with the key in CALLMARK_ALT_KEY

  @TDG-4-07
  @cap:jina.search
  Rule: No other place holds a key

    Scenario Outline: A key in options.jina.<member> is not used
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/auth_env" is "CALLMARK_UNSET_KEY"
      And its row's "/jina/<member>" is "{literal}"
      When the worker sends the command
      Then no request is made with the literal key

      Examples:
        | member  |
        | api_key |
        | auth    |
        | token   |

    Scenario Outline: A key in options.<member> is not used
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/auth_env" is "CALLMARK_UNSET_KEY"
      And its row's "/<member>" is "{literal}"
      When the worker sends the command
      Then no request is made with the literal key

      Examples:
        | member       |
        | api_key      |
        | auth/api_key |

    Scenario: Headers in the options hold no key
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/auth_env" is "CALLMARK_UNSET_KEY"
      And its row's "/jina/headers/Authorization" is "Bearer {literal}"
      When the worker sends the command
      Then no request is made with the literal key

    Scenario Outline: A key in the argument <argument> is not used
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/auth_env" is "CALLMARK_UNSET_KEY"
      And the tool.call card's argument "<argument>" is "{literal}"
      When the worker sends the command
      Then no request is made with the literal key

      Examples:
        | argument      |
        | api_key       |
        | authorization |

    @cap:jina.auth_env
    Scenario: The name of a variable in the arguments chooses no key
      Given a live OpenAPI executor
      And a command for the search tool
      And the tool.call card's argument "auth_env" is "CALLMARK_ALT_KEY"
      When the worker sends the command
      Then no request is made with the key in CALLMARK_ALT_KEY

    Scenario: A literal in the place of the variable's name is not used
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/auth_env" is "{literal}"
      When the worker sends the command
      Then no request is made with the literal key

    Scenario: A literal in the place of a variable's name under envs is not used
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/envs/session_key" is "{literal}"
      When the worker sends the command
      Then no request is made with the literal key

    @cap:jina.reader
    Scenario Outline: A key in options.<member> is not used for a reader
      Given a live OpenAPI executor
      And a command for the reader tool
      And its row's "/jina/auth_env" is "CALLMARK_UNSET_KEY"
      And its row's "/<member>" is "{literal}"
      When the worker sends the command
      Then no request is made with the literal key

      Examples:
        | member       |
        | jina/api_key |
        | api_key      |

    Scenario: A key in options.jina.key is not used
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/auth_env" is "CALLMARK_UNSET_KEY"
      And its row's "/jina/key" is "{literal}"
      When the worker sends the command
      Then no request is made with the literal key

  @cap:jina.search
  Rule: No key is written down

    @cap:jina.key
    Scenario Outline: The default key is in no card when the upstream <does>
      Given a live OpenAPI executor
      And a command for the search tool
      And the upstream <does>
      When the worker sends the command
      Then nothing that the executor sends holds the value of JINA_API_KEY

      Examples:
        | rule     | does                    |
        | TDG-4-08 | answers with status 200 |
        | TDG-4-08 | answers with status 401 |
        | TDG-4-08 | answers with status 500 |
        | TDG-4-08 | closes the connection   |

      @cap:jina.timeout
      @holds
      Examples: silence
        | rule     | does                    |
        | TDG-4-08 | never answers           |

    @TDG-4-08
    @cap:jina.auth_env
    Scenario: The key that auth_env names is in no card
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/auth_env" is "CALLMARK_ALT_KEY"
      When the worker sends the command
      Then nothing that the executor sends holds the value of CALLMARK_ALT_KEY

    @TDG-4-08
    @cap:jina.key
    @cap:jina.reader
    Scenario: The key of a reader is in no card
      Given a live OpenAPI executor
      And a command for the reader tool
      When the worker sends the command
      Then nothing that the executor sends holds the value of JINA_API_KEY

    @TDG-4-08
    @cap:jina.auth_env
    Scenario Outline: The key that auth_env names is in no card when the upstream <does>
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/auth_env" is "CALLMARK_ALT_KEY"
      And the upstream <does>
      When the worker sends the command
      Then nothing that the executor sends holds the value of CALLMARK_ALT_KEY

      Examples:
        | does                    |
        | answers with status 401 |
        | answers with status 500 |
        | closes the connection   |

    @TDG-4.1-08
    @cap:jina.envs
    Scenario Outline: A value under envs is in no card when the upstream <does>
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/envs/session_key" is "CALLMARK_PARAM_KEY"
      And the upstream <does>
      When the worker sends the command
      Then nothing that the executor sends holds the value of CALLMARK_PARAM_KEY

      Examples:
        | does                    |
        | answers with status 200 |
        | answers with status 401 |
        | answers with status 500 |
        | closes the connection   |

      @cap:jina.timeout
      @holds
      Examples: silence
        | does                    |
        | never answers           |

    @TDG-4.1-08
    @cap:jina.service_envs
    Scenario Outline: A value of the service's own is in no card when the upstream <does>
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/envs/api_key" is "CALLMARK_PARAM_KEY"
      And the upstream <does>
      When the worker sends the command
      Then nothing that the executor sends holds the value of CALLMARK_SERVICE_KEY

      Examples:
        | does                    |
        | answers with status 200 |
        | answers with status 401 |
        | answers with status 404 |
        | answers with status 500 |
        | closes the connection   |

    @TDG-4-09
    @cap:jina.log
    @cap:jina.key
    Scenario Outline: The default key is not logged when the upstream <does>
      Given a live OpenAPI executor
      And a command for the search tool
      And the upstream <does>
      When the worker sends the command
      Then the log does not hold the value of JINA_API_KEY

      Examples:
        | does                    |
        | answers with status 200 |
        | answers with status 401 |
        | answers with status 500 |
        | closes the connection   |

      @cap:jina.timeout
      @holds
      Examples: silence
        | does                    |
        | never answers           |

    @TDG-4-09
    @cap:jina.log
    @cap:jina.envs
    Scenario Outline: A value under envs is not logged when the upstream <does>
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/envs/session_key" is "CALLMARK_PARAM_KEY"
      And the upstream <does>
      When the worker sends the command
      Then the log does not hold the value of CALLMARK_PARAM_KEY

      Examples:
        | does                    |
        | answers with status 200 |
        | answers with status 401 |
        | answers with status 500 |
        | closes the connection   |

      @cap:jina.timeout
      @holds
      Examples: silence
        | does                    |
        | never answers           |

    @TDG-4-09
    @cap:jina.log
    @cap:jina.service_envs
    Scenario Outline: A value of the service's own is not logged when the upstream <does>
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/envs/api_key" is "CALLMARK_PARAM_KEY"
      And the upstream <does>
      When the worker sends the command
      Then the log does not hold the value of CALLMARK_SERVICE_KEY

      Examples:
        | does                    |
        | answers with status 200 |
        | answers with status 401 |
        | answers with status 500 |

    @TDG-4-09
    @cap:jina.log
    @cap:jina.auth_env
    @last
    Scenario: The key that auth_env names is not logged
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/auth_env" is "CALLMARK_ALT_KEY"
      And its row's "/jina/path" is "/named"
      When the worker sends the command
      Then the log does not hold the value of CALLMARK_ALT_KEY

    @TDG-4.1-08
    @cap:jina.envs
    Scenario Outline: A value under envs is in no card when the upstream <does> too
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/envs/session_key" is "CALLMARK_PARAM_KEY"
      And the upstream <does>
      When the worker sends the command
      Then nothing that the executor sends holds the value of CALLMARK_PARAM_KEY

      Examples:
        | does                                              |
        | answers with status 404                           |
        | answers with status 429                           |
        | redirects with status 302 to {upstream}/{landing} |

    @TDG-4.1-08
    @cap:jina.envs
    Scenario Outline: A value in the body of a POST request is in no card when the upstream <does>
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/method" is "POST"
      And its row's "/envs/session_key" is "CALLMARK_PARAM_KEY"
      And the upstream <does>
      When the worker sends the command
      Then nothing that the executor sends holds the value of CALLMARK_PARAM_KEY

      Examples:
        | does                    |
        | answers with status 200 |
        | answers with status 500 |

    @TDG-4.1-08
    @cap:jina.envs
    @cap:jina.reader
    Scenario Outline: A value in the request of a reader is in no card when the upstream <does>
      Given a live OpenAPI executor
      And a command for the reader tool
      And its row's "/envs/session_key" is "CALLMARK_PARAM_KEY"
      And the upstream <does>
      When the worker sends the command
      Then nothing that the executor sends holds the value of CALLMARK_PARAM_KEY

      Examples:
        | does                    |
        | answers with status 200 |
        | answers with status 500 |

    @TDG-4-09
    @cap:jina.log
    @cap:jina.envs
    Scenario Outline: A value under envs is not logged when the upstream <does> too
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/envs/session_key" is "CALLMARK_PARAM_KEY"
      And the upstream <does>
      When the worker sends the command
      Then the log does not hold the value of CALLMARK_PARAM_KEY

      Examples:
        | does                                              |
        | answers with status 404                           |
        | answers with status 429                           |
        | redirects with status 302 to {upstream}/{landing} |

    @TDG-4-09
    @cap:jina.log
    @cap:jina.envs
    Scenario: A value in the body of a POST request is not logged
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/method" is "POST"
      And its row's "/envs/session_key" is "CALLMARK_PARAM_KEY"
      When the worker sends the command
      Then the log does not hold the value of CALLMARK_PARAM_KEY

    @TDG-4-09
    @cap:jina.log
    @cap:jina.envs
    @cap:jina.reader
    Scenario: A value in the request of a reader is not logged
      Given a live OpenAPI executor
      And a command for the reader tool
      And its row's "/envs/session_key" is "CALLMARK_PARAM_KEY"
      When the worker sends the command
      Then the log does not hold the value of CALLMARK_PARAM_KEY

    @cap:jina.envs
    Scenario Outline: A value in the body of a POST request is <nowhere> when the upstream <does>
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/method" is "POST"
      And its row's "/envs/session_key" is "CALLMARK_PARAM_KEY"
      And the upstream <does>
      When the worker sends the command
      Then <nothing> the value of CALLMARK_PARAM_KEY

      Examples: in no card
        | rule       | nowhere    | does                    | nothing                              |
        | TDG-4.1-08 | in no card | closes the connection   | nothing that the executor sends holds |
        | TDG-4.1-08 | in no card | answers with status 503 | nothing that the executor sends holds |

      @cap:jina.timeout
      @holds
      Examples: silence
        | rule       | nowhere    | does                    | nothing                              |
        | TDG-4.1-08 | in no card | never answers           | nothing that the executor sends holds |

      @cap:jina.log
      Examples: not logged
        | rule       | nowhere    | does                    | nothing                              |
        | TDG-4-09   | not logged | answers with status 500 | the log does not hold                |
        | TDG-4-09   | not logged | closes the connection   | the log does not hold                |

      @cap:jina.log
      @cap:jina.timeout
      @holds
      Examples: silence, not logged
        | rule       | nowhere    | does                    | nothing                              |
        | TDG-4-09   | not logged | never answers           | the log does not hold                |

    @cap:jina.envs
    @cap:jina.reader
    Scenario Outline: A value in the request of a reader is <nowhere> when the upstream <does>
      Given a live OpenAPI executor
      And a command for the reader tool
      And its row's "/envs/session_key" is "CALLMARK_PARAM_KEY"
      And the upstream <does>
      When the worker sends the command
      Then <nothing> the value of CALLMARK_PARAM_KEY

      Examples: in no card
        | rule       | nowhere    | does                    | nothing                              |
        | TDG-4.1-08 | in no card | closes the connection   | nothing that the executor sends holds |
        | TDG-4.1-08 | in no card | answers with status 503 | nothing that the executor sends holds |

      @cap:jina.log
      Examples: not logged
        | rule       | nowhere    | does                    | nothing                              |
        | TDG-4-09   | not logged | answers with status 500 | the log does not hold                |
        | TDG-4-09   | not logged | closes the connection   | the log does not hold                |

    @TDG-4.1-08
    @cap:jina.envs
    Scenario Outline: A value under envs is in no card when the upstream answers with status <status>
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/envs/session_key" is "CALLMARK_PARAM_KEY"
      And the upstream answers with status <status>
      When the worker sends the command
      Then nothing that the executor sends holds the value of CALLMARK_PARAM_KEY

      Examples:
        | status |
        | 403    |
        | 503    |
