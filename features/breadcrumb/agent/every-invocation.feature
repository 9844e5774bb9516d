@role:breadcrumb.agent
@always
Feature: What holds in every invocation of an agent
  These scenarios send nothing. When all others have ended, they judge everything that the agent said in any of them:
  whatever the user wanted, in a first turn and in later ones, and after failures.

  Rule: Every invocation has the exact structure

    @cap:agent.envelope
    Scenario Outline: The <part> of every envelope
      Given everything that the agent said
      Then every invocation has the right <part>

      Examples:
        | rule   | part       |
        | BRD-10 | JSON       |
        | BRD-01 | action     |
        | BRD-02 | breadcrumb |

    Scenario Outline: The <part> of every invocation
      Given everything that the agent said
      Then every invocation has the right <part>

      Examples:
        | rule   | part            |
        | BRD-03 | schema name     |
        | BRD-04 | title           |
        | BRD-05 | tag             |
        | BRD-07 | list of calls   |
        | BRD-08 | kind of message |
        | BRD-09 | message         |

  Rule: Every call is described completely

    Scenario Outline: The <member> of every call
      Given everything that the agent said
      Then every call has the right <member>

      Examples:
        | rule   | member             |
        | BRD-14 | tool               |
        | BRD-20 | input              |
        | BRD-26 | request id         |
        | BRD-29 | form of request id |
        | BRD-32 | flag               |

    @BRD-15
    Scenario: The name of every tool
      Given everything that the agent said
      Then every call names a tool of the catalog

    @BRD-21
    Scenario: The parameters of every call
      Given everything that the agent said
      Then every input meets the requirements of its tool

    @BRD-27
    Scenario: The ids of the calls of every message
      Given everything that the agent said
      Then no two calls of a message have the same id

    @BRD-39 @cap:agent.config
    Scenario: Every configuration
      Given everything that the agent said
      Then every configuration is named by a UUID

  Rule: Every invocation belongs to its session

    @BRD-06
    Scenario: The session of everything that is said
      Given everything that the agent said
      Then every invocation has the right session

    @BRD-28
    Scenario: The ids of every session
      Given everything that the agent said
      Then no id is used twice in the session
