@role:utp.openapi
Feature: An OpenAPI executor asks two hosts and no other
  What becomes of a call whose row names another host is open, as long as that host is not asked: the call may
  fail, or an allowed host may be asked in its place. A redirect is the same question, asked by the upstream.

  @cap:jina.search
  Rule: Another host is refused before a request

    @TDG-4-12
    Scenario Outline: A row for <base_url> asks nobody else
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/path" is "/{token}"
      And its row's "/jina/base_url" is "<base_url>"
      When the worker sends the command
      Then no host is asked that is not allowed

      Examples:
        | base_url              |
        | https://evil.test     |
        | https://api.jina.ai   |
        | https://jina.ai       |
        | https://10.11.12.13   |

    @TDG-4-12
    @cap:jina.reader
    Scenario: A reader's row for another host asks nobody else
      Given a live OpenAPI executor
      And a command for the reader tool
      And its row's "/jina/path" is "/{token}"
      And its row's "/jina/base_url" is "https://reader.test"
      When the worker sends the command
      Then no host is asked that is not allowed

    @TDG-4-12
    Scenario Outline: A row for another host, written <base_url>, asks nobody else
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/path" is "/{token}"
      And its row's "/jina/base_url" is "<base_url>"
      When the worker sends the command
      Then no host is asked that is not allowed

      Examples:
        | base_url              |
        | http://plain.test     |
        | schemeless.test       |
        | //relative.test       |
        | https://port.test:443 |

    @TDG-4-12
    Scenario: A row for another host asks nobody else by POST either
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/path" is "/{token}"
      And its row's "/jina/method" is "POST"
      And its row's "/jina/base_url" is "https://post.test"
      When the worker sends the command
      Then no host is asked that is not allowed

    # Resolved against the address like a link, it names another host.
    @TDG-4-12
    Scenario: A path that names another host asks nobody else
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/path" is "//joined.test/?page=1"
      When the worker sends the command
      Then no host is asked that is not allowed

    @TDG-4-12
    Scenario: An argument that names another host asks nobody else
      Given a live OpenAPI executor
      And a command for the search tool
      And the tool.call card's argument "base_url" is "https://argument.test"
      When the worker sends the command
      Then no host is asked that is not allowed

    # The page is the reader's to fetch, also where the reader does not give it.
    @TDG-4-12
    @cap:jina.reader
    Scenario Outline: The host of a page that a reader <outcome> is not asked
      Given a live OpenAPI executor
      And a command for the reader tool
      And the tool.call card's argument "url" is "https://page.test/{token}"
      And the upstream <does>
      When the worker sends the command
      Then no host is asked that is not allowed

      Examples:
        | outcome       | does                    |
        | gives         | answers with status 200 |
        | does not give | answers with status 503 |

  @TDG-4-13
  @cap:jina.search
  Rule: A host that looks like an allowed one is another host

    Scenario Outline: A row for <base_url> asks nobody else
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/path" is "/{token}"
      And its row's "/jina/base_url" is "<base_url>"
      When the worker sends the command
      Then no host is asked that is not allowed

      Examples:
        | base_url                             |
        | https://s.jina.ai.longer.test        |
        | https://r.jina.ai.longer.test        |
        | https://s.jina.ai@user.test          |
        | https://s.jina.ai:x@password.test    |
        | https://path.test/s.jina.ai          |
        | https://query.test?u=https://s.jina.ai |
        | https://fragment.test#@s.jina.ai     |
        | https://xs.jina.ai                   |
        | https://sxjina.ai                    |
        | https://eu.s.jina.ai                 |

    Scenario: A row whose host ends before a backslash asks nobody else
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/path" is "/{token}"
      And its row's "/jina/base_url" is "https://backslash.test\\@s.jina.ai"
      When the worker sends the command
      Then no host is asked that is not allowed

    @cap:jina.reader
    Scenario Outline: A reader's row for <base_url> asks nobody else
      Given a live OpenAPI executor
      And a command for the reader tool
      And its row's "/jina/path" is "/{token}"
      And its row's "/jina/base_url" is "<base_url>"
      When the worker sends the command
      Then no host is asked that is not allowed

      Examples:
        | base_url                      |
        | https://r.jina.ai.longer.test |
        | https://r.jina.ai@user.test   |
        | https://path.test/r.jina.ai   |
        | https://xr.jina.ai            |
        | https://eu.r.jina.ai          |

    # Written behind the address as it is, it makes another host of it.
    Scenario Outline: A row whose path is <path> asks nobody else
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/path" is "<path>"
      When the worker sends the command
      Then no host is asked that is not allowed

      Examples:
        | path                      |
        | .suffix.test/?page=1      |
        | @userpath.test/?page=1    |
        | :x@secretpath.test/?page=1 |

  @TDG-4-14
  @cap:jina.search
  Rule: A redirect to another host is not followed

    Scenario Outline: A redirect with status <status> to <url> leads nowhere
      Given a live OpenAPI executor
      And a command for the search tool
      And the upstream redirects with status <status> to <url>
      When the worker sends the command
      Then the redirect is not followed

      Examples:
        | status | url                              |
        | 302    | https://elsewhere.test/{landing} |
        | 301    | http://moved.test/{landing}      |
        | 303    | //seeother.test/{landing}        |
        | 302    | {upstream}/{landing}             |
        | 301    | {upstream}/{landing}             |
        | 307    | {upstream}/{landing}             |
        | 308    | {upstream}/{landing}             |

    Scenario Outline: A redirect by way of an allowed host to <url> leads nowhere
      Given a live OpenAPI executor
      And a command for the search tool
      And the upstream redirects with status <status> to https://r.jina.ai/{token} and from there to <url>
      When the worker sends the command
      Then the redirect is not followed

      Examples:
        | status | url                              |
        | 302    | https://elsewhere.test/{landing} |
        | 307    | {upstream}/{landing}             |

    @cap:jina.reader
    Scenario: A reader does not follow a redirect either
      Given a live OpenAPI executor
      And a command for the reader tool
      And the upstream redirects with status 302 to {upstream}/{landing}
      When the worker sends the command
      Then the redirect is not followed

    Scenario Outline: A redirect of a POST request with status <status> leads nowhere
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/method" is "POST"
      And the upstream redirects with status <status> to {upstream}/{landing}
      When the worker sends the command
      Then the redirect is not followed

      Examples:
        | status |
        | 302    |
        | 307    |

    @cap:jina.reader
    Scenario Outline: A reader does not follow a redirect with status <status> either
      Given a live OpenAPI executor
      And a command for the reader tool
      And the upstream redirects with status <status> to {upstream}/{landing}
      When the worker sends the command
      Then the redirect is not followed

      Examples:
        | status |
        | 301    |
        | 308    |
