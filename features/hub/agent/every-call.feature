@role:hub.agent
@always
Feature: What holds in every call of a Hub tool
  These scenarios send nothing. When all others have ended, they judge every call of a Hub tool that the agent was made
  to make in any of them: for one customer and another, after a failure, and while the Hub answers with errors.

  Rule: Every execute request is as documented

    Scenario Outline: The <part> of every execute request
      Given every call of a Hub tool
      Then every execute request has the right <part>

      Examples:
        | rule   | part         |
        | HUB-07 | path         |
        | HUB-09 | secret       |
        | HUB-13 | content type |
        | HUB-17 | tool         |
        | HUB-18 | agent        |
        | HUB-19 | customer     |
        | HUB-20 | end user     |
        | HUB-23 | context      |

    @HUB-21
    Scenario: The inputs of every call arrive as they are
      Given every call of a Hub tool
      Then its inputs are those of the call

    @HUB-24
    Scenario: The inputs of every call are the documented ones
      Given every call of a Hub tool
      Then its inputs are named and typed as documented

  Rule: Calendar and mail are left to the Hub, whatever it answers

    @HUB-03 @cap:agent.provider
    Scenario: No call goes to the provider
      Given every call of a Hub tool
      Then no request goes to the provider

  Rule: Every question about the status is as documented

    @HUB-117
    Scenario: Method, path, customer and secret of every question
      Given every call of a Hub tool
      Then each question about the status is as documented

  Rule: Every error of the Hub is a failed call

    @HUB-57
    Scenario: Every call that the Hub answered with an error has failed
      Given every call of a Hub tool
      Then the failure reports what the Hub answered
