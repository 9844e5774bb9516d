@role:breadcrumb.tools
Feature: breadcrumb-create, breadcrumb-update and breadcrumb-search
  What these tools say about the store is what the store holds.

  @BRD-69 @cap:tool.breadcrumb-create
  Rule: A new breadcrumb is in the store under the id that is given

    Scenario: A memo with tags and a context
      Given a tool runner
      And a valid call of breadcrumb-create
      When the agent makes the call
      Then the output names a breadcrumb that the store holds

    Scenario: No other like it is stored
      Given a tool runner
      And a valid call of breadcrumb-create
      When the agent makes the call and says nothing more
      Then the output names the only breadcrumb that was stored for the call

    Scenario: Two that differ, one after the other
      Given a tool runner
      And a valid call of breadcrumb-create
      And a valid call of breadcrumb-create
      When the agent makes the calls, each after the answer to the one before
      Then the output names a breadcrumb that the store holds
      And the output names a breadcrumb with nothing of another call

    Scenario Outline: A context with <what>
      Given a tool runner
      And a call of breadcrumb-create with <what>
      When the agent makes the call
      Then the breadcrumb that it stores holds them as they were

      Examples:
        | what                             |
        | nested values and numbers        |
        | names that are easily altered    |

  @BRD-70
  Rule: A breadcrumb tool says true for what succeeded

    @cap:tool.breadcrumb-create
    Scenario: For a new breadcrumb
      Given a tool runner
      And a valid call of breadcrumb-create
      When the agent makes the call
      Then the output is a success

    @cap:tool.breadcrumb-update
    Scenario: For a change
      Given a tool runner
      And a valid call of breadcrumb-update
      When the agent makes the call
      Then the output is a success

  @BRD-71 @cap:tool.breadcrumb-update
  Rule: After a change the new version is the one that the store has

    Scenario: A breadcrumb gets another title
      Given a tool runner
      And a valid call of breadcrumb-update
      When the agent makes the call
      Then the output has the version of the store

    Scenario: A breadcrumb is changed three times
      Given a tool runner
      And a valid call of breadcrumb-update
      When the agent makes the call, and then changes the same breadcrumb twice more
      Then the versions rise to that of the store

  @BRD-72 @cap:tool.breadcrumb-search
  Rule: A search lists what was stored just before

    Scenario Outline: With <number> in the store
      Given a tool runner
      And a search for <number> stored breadcrumbs
      When the agent makes the call
      Then the output has all that was stored

      Examples:
        | number |
        | 0      |
        | 1      |
        | 3      |
        | 6      |

    Scenario: The same search finds what was stored since
      Given a tool runner
      And a search for 1 stored breadcrumbs
      When the agent makes the call, and again after one more breadcrumb was stored
      Then the output has all that was stored

  @BRD-73 @cap:tool.breadcrumb-search
  Rule: A search counts its results

    Scenario Outline: With <number> in the store
      Given a tool runner
      And a search for <number> stored breadcrumbs
      When the agent makes the call
      Then the output counts its results

      Examples:
        | number |
        | 0      |
        | 1      |
        | 3      |
        | 6      |
