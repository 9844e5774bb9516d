@role:hub.server
Feature: email_search, email_read, email_check_replies
  The mailbox is searched, a message is read in full, and a thread is watched for replies.

  Rule: A search lists messages

    @HUB-92 @cap:customer.connected @cap:data
    Scenario Outline: <member> of each message
      Given a Hub
      And a full request for email_search
      And it searches for a mail that is there
      When the agent sends the request
      Then the Hub answers with a result
      And each of "messages" has "<member>", <shape>
      And the mail is among them

      Examples:
        | member          | shape                 |
        | message_id      | a string              |
        | thread_id       | a string              |
        | from            | a string              |
        | to              | strings               |
        | subject         | a string              |
        | snippet         | a string              |
        | date            | a string              |
        | has_attachments | a boolean             |

    @HUB-92 @cap:customer.connected @cap:mailbox @cap:mailbox.attachment @level:should
    Scenario: Whether there are attachments
      Given a Hub
      And a full request for email_search
      And it searches for mails of who sent the attachment
      And its "inputs.max_results" is 25
      When the agent sends the request
      Then the Hub answers with a result
      And the messages list their attachments

    @HUB-92 @cap:customer.connected
    Scenario: The list is there
      Given a Hub
      And a full request for email_search
      When the agent sends the request
      Then the Hub answers with a result
      And "result.messages" is an array

    @HUB-93 @cap:customer.connected
    Scenario: The total covers what is listed
      Given a Hub
      And a full request for email_search
      When the agent sends the request
      Then the Hub answers with a result
      And "result.total_results" is an integer of 0 or more
      And the messages are no more than the total

    @HUB-93 @cap:customer.connected @cap:data
    Scenario: The total counts a mail that is there
      Given a Hub
      And a full request for email_search
      And it searches for a mail that is there
      When the agent sends the request
      Then the Hub answers with a result
      And the messages are no more than the total
      And the mail is among them

    @HUB-92 @cap:customer.connected @cap:provider @level:should
    Scenario: A mail in two versions has no attachment
      Given a Hub
      And a full request for email_search
      And its "inputs.query" is "subject:numbers"
      And its "inputs.max_results" is 10
      When the agent sends the request
      Then the Hub answers with a result
      And a text in two versions counts as no attachment

  @HUB-94 @cap:customer.connected @cap:mailbox
  Rule: A search lists no more than was asked for

    Scenario Outline: At most <limit>
      Given a Hub
      And a full request for email_search
      And it searches for mails of the sender
      And its "inputs.max_results" is <limit>
      When the agent sends the request
      Then the Hub answers with a result
      And the messages are no more than asked for

      Examples:
        | limit |
        | 1     |
        | 2     |

  @HUB-95 @cap:customer.connected @cap:data
  Rule: The query restricts what is found

    @cap:mailbox
    Scenario: Mails of somebody
      Given a Hub
      And a full request for email_search
      And it searches for mails of the sender
      And its "inputs.max_results" is 10
      When the agent sends the request
      Then the Hub answers with a result
      And the messages are of the sender

    @cap:mailbox.subject
    Scenario: Mails about something
      Given a Hub
      And a full request for email_search
      And it searches for mails with the subject word
      And its "inputs.max_results" is 10
      When the agent sends the request
      Then the Hub answers with a result
      And the messages have the subject word

    Scenario: A mail that is there
      Given a Hub
      And a full request for email_search
      And it searches for a mail that is there
      When the agent sends the request
      Then the Hub answers with a result
      And the messages match the query

    @cap:provider
    Scenario: All that match are listed
      Given a Hub
      And a full request for email_search
      And it searches for mails with the subject word
      And its "inputs.max_results" is 10
      When the agent sends the request
      Then the Hub answers with a result
      And "messages" lists 3 in all

    # Two mails are of the sender and two about the delivery; one of them is both.
    @cap:provider
    Scenario: Mails of somebody about something
      Given a Hub
      And a full request for email_search
      And its "inputs.query" is "from:cleo@fern.example subject:delivery"
      And its "inputs.max_results" is 10
      When the agent sends the request
      Then the Hub answers with a result
      And "messages" lists 1 in all

    Scenario: A word that stands nowhere
      Given a Hub
      And a full request for email_search
      And it searches for nothing
      When the agent sends the request, and then one for a mail that is there
      Then the Hub answers with a result
      And the messages are none

  Rule: Bodies come where they are asked for

    @HUB-96 @cap:customer.connected @cap:data
    Scenario: Without bodies
      Given a Hub
      And a full request for email_search
      And it searches for a mail that is there
      And its "inputs.include_body" is false
      When the agent sends the request
      Then the Hub answers with a result
      And the messages have no body
      And the mail is among them

    @HUB-97 @cap:customer.connected @cap:data
    Scenario: With bodies
      Given a Hub
      And a full request for email_search
      And it searches for a mail that is there
      And its "inputs.include_body" is true
      When the agent sends the request
      Then the Hub answers with a result
      And the messages have a body
      And the mail is among them

    @HUB-97 @cap:customer.connected @cap:provider
    Scenario: A body in HTML comes as well
      Given a Hub
      And a full request for email_search
      And its "inputs.query" is "from:news@moss.example"
      And its "inputs.include_body" is true
      When the agent sends the request
      Then the Hub answers with a result
      And each of "messages" has "body", a non-empty string

    @HUB-96 @cap:customer.connected @cap:provider
    Scenario: No text comes under another name
      Given a Hub
      And a long message in the mailbox
      And a full request for email_search
      And it searches for the new message
      And its "inputs.include_body" is false
      When the agent sends the request
      Then the Hub answers with a result
      And the message is listed without its text

    @HUB-97 @cap:customer.connected @cap:provider
    Scenario: A body is the whole text
      Given a Hub
      And a long message in the mailbox
      And a full request for email_search
      And it searches for the new message
      And its "inputs.include_body" is true
      When the agent sends the request
      Then the Hub answers with a result
      And the message is listed with its whole text

  Rule: A message is read in full

    @HUB-98 @cap:customer.connected
    Scenario Outline: Its <member>
      Given a Hub
      And a full request for email_read
      When the agent sends the request
      Then the Hub answers with a result
      And "result.<member>" is <shape>

      Examples:
        | member      | shape              |
        | message_id  | a non-empty string |
        | thread_id   | a non-empty string |
        | from        | a string           |
        | to          | strings            |
        | subject     | a string           |
        | body        | a string           |
        | date        | a string           |
        | attachments | an array           |

    @HUB-98 @cap:customer.connected @cap:provider
    Scenario: It says what is in the mailbox
      Given a Hub
      And a full request for email_read
      When the agent sends the request
      Then the Hub answers with a result
      And the result says what is in the mailbox

    @HUB-99 @cap:customer.connected @cap:data
    Scenario: It is the message that was asked for
      Given a Hub
      And a full request for email_read
      When the agent sends the request
      Then the Hub answers with a result
      And the result is the message asked for

    @HUB-99 @cap:customer.connected @cap:data @cap:mailbox.attachment
    Scenario: Another one is another one
      Given a Hub
      And a full request for email_read
      And its "inputs.message_id" is the mailbox's message with an attachment
      When the agent sends the request
      Then the Hub answers with a result
      And the result is the message asked for

    @HUB-100 @cap:customer.connected @cap:mailbox.attachment @cap:data
    Scenario Outline: Each attachment has its <member>
      Given a Hub
      And a full request for email_read
      And its "inputs.message_id" is the mailbox's message with an attachment
      When the agent sends the request
      Then the Hub answers with a result
      And the result has attachments
      And each of "attachments" has "<member>", <shape>

      Examples:
        | member    | shape                   |
        | filename  | a string                |
        | size      | an integer of 0 or more |
        | mime_type | a string                |

    @HUB-100 @cap:customer.connected @cap:provider
    Scenario: Names and sizes are those of the files
      Given a Hub
      And a full request for email_read
      And its "inputs.message_id" is the mailbox's message with an attachment
      When the agent sends the request
      Then the Hub answers with a result
      And the result lists the files in the mailbox

    @HUB-100 @cap:customer.connected @cap:mailbox @cap:data
    Scenario: A message without attachments
      Given a Hub
      And a full request for email_read
      When the agent sends the request
      Then the Hub answers with a result
      And the result has no attachments

    @HUB-98 @cap:customer.connected @cap:provider
    Scenario: It says so after another message was read
      Given a Hub
      And a full request for email_read
      And its "inputs.message_id" is the mailbox's message with an attachment
      When the agent sends the request
      Given a full request for email_read
      When the agent sends the request
      Then the Hub answers with a result
      And the result says what is in the mailbox

    @HUB-100 @cap:customer.connected @cap:provider
    Scenario: What has no name is no attachment
      Given a Hub
      And a full request for email_read
      And its "inputs.message_id" is the mailbox's message with an attachment
      When the agent sends the request
      Then the Hub answers with a result
      And each of "attachments" has "filename", a non-empty string

    @HUB-98 @cap:customer.connected @cap:provider
    Scenario: Its body is the whole text
      Given a Hub
      And a long message in the mailbox
      And a full request for email_read
      When the agent sends the request
      Then the Hub answers with a result
      And the result has the whole text of the message

    @HUB-100 @cap:customer.connected @cap:provider
    Scenario: Each file is listed once, with its media type
      Given a Hub
      And a full request for email_read
      And its "inputs.message_id" is the mailbox's message with an attachment
      When the agent sends the request
      Then the Hub answers with a result
      And the result lists each file once, with its media type

  Rule: The agent decides whether the message becomes read

    @HUB-101 @cap:customer.connected
    Scenario Outline: Both are taken: <value>
      Given a Hub
      And a full request for email_read
      And its "inputs.mark_as_read" is <value>
      When the agent sends the request
      Then the Hub executes it

      Examples:
        | value |
        | true  |
        | false |

    @HUB-101 @cap:customer.connected @cap:provider
    Scenario: It becomes read
      Given a Hub
      And a new message in the mailbox
      And a full request for email_read
      And its "inputs.mark_as_read" is true
      When the agent sends the request
      Then the message becomes read

    @HUB-101 @cap:customer.connected @cap:provider
    Scenario: It stays unread
      Given a Hub
      And a new message in the mailbox
      And a full request for email_read
      And its "inputs.mark_as_read" is false
      When the agent sends the request
      Then the message stays unread

    @HUB-101 @cap:customer.connected @cap:provider
    Scenario: It becomes read, and nothing else
      Given a Hub
      And a new message in the mailbox
      And a full request for email_read
      And its "inputs.mark_as_read" is true
      When the agent sends the request
      Then the message becomes read
      And nothing of the message changes but whether it is unread

    @HUB-101 @cap:customer.connected @cap:provider
    Scenario: What is read stays read
      Given a Hub
      And a new message in the mailbox
      And a full request for email_read
      And its "inputs.mark_as_read" is true
      When the agent sends the request
      Then the message becomes read
      Given its "inputs.mark_as_read" is false
      When the agent sends the request
      Then nothing of the message changes

    @HUB-101 @cap:customer.connected @cap:provider @last
    Scenario: It cannot become read
      Given a Hub
      And a new message in the mailbox
      And a full request for email_read
      And its "inputs.mark_as_read" is true
      And the provider answers every change with status 500
      When the agent sends the request
      Then the answer is the error EXTERNAL_API_ERROR

    @HUB-101 @cap:customer.connected @cap:provider @last
    Scenario: It may not become read
      Given a Hub
      And a new message in the mailbox
      And a full request for email_read
      And its "inputs.mark_as_read" is true
      And the provider answers every change with status 403
      When the agent sends the request
      Then the request does not succeed at all

  @HUB-102 @cap:customer.connected @cap:data
  Rule: What is not there cannot be read

    Scenario: A message that is not there
      Given a Hub
      And a full request for email_read
      And its "inputs.message_id" is "19ffffffffffffff"
      When the agent sends the bad request
      Then the request does not succeed at all

    Scenario: No message
      Given a Hub
      And a full request for email_read
      And it has no "inputs.message_id"
      When the agent sends the bad request
      Then the request does not succeed at all

    Scenario: No thread
      Given a Hub
      And a full request for email_check_replies
      And it has no "inputs.thread_id"
      When the agent sends the bad request
      Then the request does not succeed at all

  Rule: A thread is watched for replies

    @HUB-103 @cap:customer.connected
    Scenario: It is said whether there are any
      Given a Hub
      And a full request for email_check_replies
      When the agent sends the request
      Then the Hub answers with a result
      And "result.has_new_replies" is a boolean
      And the result says whether there are new replies

    @HUB-103 @cap:customer.connected @cap:mailbox.thread @cap:data
    Scenario: A thread with replies
      Given a Hub
      And a full request for email_check_replies
      And its "inputs.thread_id" is the mailbox's thread
      When the agent sends the request
      Then the Hub answers with a result
      And the result lists replies
      And the result says whether there are new replies

    @HUB-103 @cap:customer.connected @cap:mailbox.quiet_thread @cap:data
    Scenario: A thread without replies
      Given a Hub
      And a full request for email_check_replies
      And its "inputs.thread_id" is the mailbox's thread without replies
      When the agent sends the request
      Then the Hub answers with a result
      And the result says whether there are new replies

    @HUB-104 @cap:customer.connected @cap:mailbox.thread @cap:data
    Scenario Outline: <member> of each reply
      Given a Hub
      And a full request for email_check_replies
      And its "inputs.thread_id" is the mailbox's thread
      When the agent sends the request
      Then the Hub answers with a result
      And each of "replies" has "<member>", a string

      Examples:
        | member     |
        | message_id |
        | from       |
        | snippet    |
        | date       |

    @HUB-105 @cap:customer.connected @cap:mailbox.thread @cap:data
    Scenario: Only newer ones are listed
      Given a Hub
      And a full request for email_check_replies
      And its "inputs.thread_id" is the mailbox's thread
      When the agent sends the request
      Then the Hub answers with a result
      And the result lists only newer replies

    @HUB-105 @cap:customer.connected @cap:mailbox.thread @cap:data
    Scenario: After the last one there are none
      Given a Hub
      And a full request for email_check_replies
      And its "inputs.thread_id" is the mailbox's thread
      When the agent sends the request again for what came after the last reply
      Then the Hub answers with a result
      And the result lists no replies

    @HUB-105 @cap:customer.connected @cap:provider
    Scenario Outline: <count> replies since <since>
      Given a Hub
      And a full request for email_check_replies
      And its "inputs.thread_id" is the mailbox's thread
      And its "inputs.since" is "<since>"
      When the agent sends the request
      Then the Hub answers with a result
      And "replies" lists <count> in all

      Examples:
        | since                     | count |
        | 2026-02-01T00:00:00Z      | 2     |
        | 2026-02-21T05:00:00-05:30 | 1     |
        | 2026-02-21T23:30:00+14:00 | 2     |
        | 2026-02-22T00:00:00Z      | 1     |
        | 2026-02-24T00:00:00Z      | 0     |
        | 2026-02-21T10:14:30Z      | 2     |
        | 2026-02-21T10:15:30Z      | 1     |

    @HUB-106 @cap:customer.connected @cap:mailbox.thread @cap:mailbox.other_thread @cap:data
    Scenario: Only those of the thread are listed
      Given a Hub
      And a full request for email_check_replies
      When the agent sends the request for both threads of the mailbox
      Then the threads have no reply in common

    @HUB-103 @cap:customer.connected @cap:mailbox.quiet_thread @cap:data
    Scenario: A thread without replies lists none
      Given a Hub
      And a full request for email_check_replies
      And its "inputs.thread_id" is the mailbox's thread without replies
      When the agent sends the request
      Then the Hub answers with a result
      And the result lists no replies

    @HUB-105 @cap:customer.connected @cap:mailbox.thread @cap:data
    Scenario Outline: Those after <moment>
      Given a Hub
      And a full request for email_check_replies
      And its "inputs.thread_id" is the mailbox's thread
      When the agent sends the request again for what came after <moment>
      Then the result lists the replies that are newer, and none that is older

      Examples:
        | moment                                      |
        | the earlier replies                         |
        | the earlier replies, by a clock in the west |
        | the earlier replies, by a clock in the east |

  @HUB-107 @cap:customer.connected
  Rule: Dates of mails are ISO 8601 with a zone

    @cap:data
    Scenario: Dates of a search
      Given a Hub
      And a full request for email_search
      And it searches for a mail that is there
      When the agent sends the request
      Then the Hub answers with a result
      And each of "messages" has "date", a date-time with zone
      And the mail is among them

    Scenario: The date of a message
      Given a Hub
      And a full request for email_read
      When the agent sends the request
      Then the Hub answers with a result
      And "result.date" is a date-time with zone

    @cap:mailbox.thread
    Scenario: Dates of replies
      Given a Hub
      And a full request for email_check_replies
      And its "inputs.thread_id" is the mailbox's thread
      When the agent sends the request
      Then the Hub answers with a result
      And each of "replies" has "date", a date-time with zone

    @cap:provider
    Scenario: A message has the date with which it was sent
      Given a Hub
      And a full request for email_read
      When the agent sends the request
      Then the Hub answers with a result
      And the message is dated "2026-02-10T08:30:00Z"

    @cap:provider
    Scenario: Messages of a search have the dates with which they were sent
      Given a Hub
      And a full request for email_search
      And it searches for mails with the subject word
      And its "inputs.max_results" is 10
      When the agent sends the request
      Then the Hub answers with a result
      And "messages" are dated "2026-02-10T08:30:00Z, 2026-02-12T14:05:00Z, 2026-02-14T09:20:00Z"

    @cap:provider
    Scenario: Replies have the dates with which they were sent
      Given a Hub
      And a full request for email_check_replies
      And its "inputs.thread_id" is the mailbox's thread
      When the agent sends the request
      Then the Hub answers with a result
      And "replies" are dated "2026-02-21T10:15:00Z, 2026-02-23T16:40:00Z"
