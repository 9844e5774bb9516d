@role:hub.agent
Feature: A tool runs where it belongs
  Local tools run in the agent, direct tools call the web, and calendar and mail tools go to the Hub and no
  further. What must not reach the Hub is made between two calls that do, and a quiet window follows.

  @HUB-01
  Rule: A local tool runs in the agent

    @cap:agent.local.first
    Scenario: The first local tool leaves the Hub out
      Given an agent
      And a call of the first local tool
      When the agent makes the call between two calls of Hub tools
      Then the call succeeds
      And the Hub is not asked to execute it

    @cap:agent.local.second
    Scenario: So does the second
      Given an agent
      And a call of the second local tool
      When the agent makes the call between two calls of Hub tools
      Then the call succeeds
      And the Hub is not asked to execute it

    # What an agent makes of such a call is open: it refuses it, or does without the input.
    Scenario Outline: A call of <tool> with an input that the tool does not know is not left to the Hub
      Given an agent
      And a call of <tool>
      And its input "x_depth" is 3
      When the agent makes the call between two calls of Hub tools
      Then the Hub is not asked to execute it

      @cap:agent.local.first
      Examples:
        | tool                 |
        | the first local tool |

      @cap:agent.local.second
      Examples:
        | tool                  |
        | the second local tool |

  @HUB-02
  Rule: A direct tool calls the web itself

    @cap:agent.fetch_page
    Scenario: A page is read by the agent
      Given an agent
      And a call of the page reader
      When the agent makes the call between two calls of Hub tools
      Then the call succeeds
      And the web is asked
      And the Hub is not asked to execute it

    @cap:agent.fetch_page
    Scenario: A page that cannot be reached is not left to the Hub
      Given an agent
      And a call of the page reader
      And its input "url" is "http://127.0.0.1:9/page"
      When the agent makes the call between two calls of Hub tools
      Then the Hub is not asked to execute it

    @cap:agent.fetch_page
    Scenario Outline: A page that <answer> is not left to the Hub
      Given an agent
      And a call of the page reader
      And the page <answer>
      When the agent makes the call between two calls of Hub tools
      Then the Hub is not asked to execute it

      Examples:
        | answer       |
        | is not there |
        | is forbidden |
        | fails        |
        | has nothing  |

    @cap:agent.web_search
    Scenario: A search is made by the agent
      Given an agent
      And a call of the web search
      When the agent makes the call between two calls of Hub tools
      Then the call succeeds
      And the web is asked
      And the Hub is not asked to execute it

    @cap:agent.web_search
    Scenario Outline: A search that <answer> is not left to the Hub
      Given an agent
      And a call of the web search
      And the search <answer>
      When the agent makes the call between two calls of Hub tools
      Then the Hub is not asked to execute it

      Examples:
        | answer           |
        | is not available |
        | is forbidden     |
        | has nothing      |

    # What an agent makes of such a call is open: it refuses it, or does without the input.
    Scenario Outline: A call of <tool> with an input that the tool does not know is not left to the Hub
      Given an agent
      And a call of <tool>
      And its input "x_depth" is 3
      When the agent makes the call between two calls of Hub tools
      Then the Hub is not asked to execute it

      @cap:agent.fetch_page
      Examples:
        | tool            |
        | the page reader |

      @cap:agent.web_search
      Examples:
        | tool           |
        | the web search |

  @HUB-03
  Rule: A calendar or mail tool goes to the Hub

    Scenario Outline: <tool> goes to the Hub
      Given an agent
      And a call of <tool>
      When the agent makes the call
      Then the Hub is asked to execute it

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | calendar_create_event       |
        | calendar_update_event       |
        | calendar_delete_event       |
        | calendar_find_optimal_times |
        | email_send                  |
        | email_search                |
        | email_read                  |
        | email_check_replies         |

    @cap:agent.provider
    Scenario Outline: <tool> leaves the provider out
      Given an agent
      And a call of <tool>
      When the agent makes the call and time passes
      Then the Hub is asked to execute it
      And the provider is not asked

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | calendar_create_event       |
        | calendar_update_event       |
        | calendar_delete_event       |
        | calendar_find_optimal_times |
        | email_send                  |
        | email_search                |
        | email_read                  |
        | email_check_replies         |

    @cap:agent.provider
    Scenario Outline: <code> does not lead to the provider
      Given an agent
      And a call of any Hub tool
      And the Hub answers it with <code>
      When the agent makes the call and time passes
      Then the Hub is asked to execute it
      And the provider is not asked

      Examples:
        | code                      |
        | INTEGRATION_NOT_CONNECTED |
        | EXTERNAL_API_ERROR        |

    @cap:agent.provider @last
    Scenario Outline: Nor does <answer>
      Given an agent
      And a call of any Hub tool
      And the Hub answers it with <answer>
      When the agent makes the call and time passes
      Then the Hub is asked to execute it
      And the provider is not asked

      Examples:
        | answer              |
        | a page of HTML      |
        | an empty body       |
        | a closed connection |

  @HUB-04
  Rule: Local and direct tools need no Hub

    @cap:agent.local.first
    Scenario: The first local tool works while the Hub is down
      Given an agent
      And the Hub is down
      And a call of the first local tool
      When the agent makes the call
      Then the call succeeds

    @cap:agent.local.second
    Scenario: So does the second
      Given an agent
      And the Hub is down
      And a call of the second local tool
      When the agent makes the call
      Then the call succeeds

    @cap:agent.fetch_page
    Scenario: A page is read while the Hub is down
      Given an agent
      And the Hub is down
      And a call of the page reader
      When the agent makes the call
      Then the call succeeds
      And the web is asked

    @cap:agent.web_search
    Scenario: A search is made while the Hub is down
      Given an agent
      And the Hub is down
      And a call of the web search
      When the agent makes the call
      Then the call succeeds
      And the web is asked

  Rule: Nothing goes astray later either

    @HUB-01 @cap:agent.local.first
    Scenario: Local tools have not reached the Hub
      Given an agent
      And a call of any Hub tool
      When the agent makes the call and a long time passes
      Then no local tool has reached the Hub

    @HUB-02 @cap:agent.fetch_page
    Scenario: Direct tools have not reached the Hub
      Given an agent
      And a call of any Hub tool
      When the agent makes the call and a long time passes
      Then no direct tool has reached the Hub

    @HUB-03 @cap:agent.provider
    Scenario: No request has reached the provider
      Given an agent
      And a call of any Hub tool
      When the agent makes the call and a long time passes
      Then nothing has reached the provider
