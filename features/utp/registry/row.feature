@role:utp.registry
Feature: A registered tool is kept as it was uploaded
  The row of a tool is what workers and Tool Services go by. Templates in it are filled in for each call, not before.

  @UTP-2-01
  Rule: A row belongs to the project that the tool was uploaded to

    Scenario: The project of the path
      Given the definition of a tool
      When the definition is uploaded
      Then the registry files it under the project of the path

    # A registry may refuse a definition with a member that it does not know.
    Scenario: The project of the path, where the definition names another
      Given the definition of a tool
      And the definition's "project_id" is "prj_elsewhere"
      And the definition's "after_execution" is "terminate"
      When the definition is uploaded
      Then the registry files it under the project of the path

    @cap:registry.projects
    Scenario: No other project has it
      Given the definition of a tool
      When the definition is uploaded, and another under its name in another project
      Then the registry shows it in no other project

    @cap:registry.projects
    Scenario: The project of the path, where another project has a tool of the name
      Given the definition of a tool
      When the definition is uploaded, and another under its name in another project
      Then the registry files it under the project of the path

  @UTP-2-02
  Rule: A tool is called what its definition calls it

    Scenario: A plain name
      Given the definition of a tool
      When the definition is uploaded
      Then the row's "tool_name" is as uploaded

    Scenario Outline: A name such as <name>
      Given the definition of a tool
      And the definition is named "<name>"
      When the definition is uploaded between two good ones
      Then the row's "tool_name" is as uploaded

      Examples:
        | name                |
        | TideTable_<unique>  |
        | HighWater_<unique>  |
        | tide.table-<unique> |
        | low.water-<unique>  |
        | high_and_low_water_for_every_harbour_of_the_northern_coast_as_the_chart_has_it_<unique> |
        | tide+table_<unique> |
        | tide table <unique> |
        | tide%20table_<unique> |
        | høyvann_<unique>    |

  Rule: What a definition says stays as it is

    Scenario Outline: The <member> of a tool
      Given the definition of a tool
      When the definition is uploaded
      Then the row's "<member>" is as uploaded

      Examples:
        | rule     | member      |
        | UTP-2-03 | description |
        | UTP-2-04 | parameters  |
        | UTP-2-07 | options     |

    Scenario Outline: The <member> of a tool that is uploaded twice
      Given the definition of a tool
      When the definition is uploaded twice
      Then the row's "<member>" is as uploaded

      Examples:
        | rule     | member          |
        | UTP-2-03 | description     |
        | UTP-2-04 | parameters      |
        | UTP-2-05 | target_subject  |
        | UTP-2-06 | after_execution |
        | UTP-2-07 | options         |

    Scenario Outline: The <member> of a new version
      Given a new version of a registered tool
      When the definition is uploaded between two good ones
      Then the row's "<member>" is as uploaded

      Examples:
        | rule     | member          |
        | UTP-2-03 | description     |
        | UTP-2-04 | parameters      |
        | UTP-2-05 | target_subject  |
        | UTP-2-06 | after_execution |
        | UTP-2-07 | options         |

    Scenario Outline: The <member> of a new version that leaves out what the old one had
      Given a new version of a registered tool
      And the definition's "parameters" is {"type": "object", "properties": {"tenant": {"type": "string"}}}
      And the definition's "options" is {"args": {"fixed": {"tenant": "{project_id}"}}}
      When the definition is uploaded between two good ones
      Then the row's "<member>" is as uploaded

      Examples:
        | rule     | member     |
        | UTP-2-04 | parameters |
        | UTP-2-07 | options    |

    Scenario Outline: The <member> of a tool that is uploaded again after a new version
      Given the definition of a tool
      When the definition is uploaded, then a new version, then the definition again
      Then the row's "<member>" is as uploaded

      Examples:
        | rule     | member          |
        | UTP-2-03 | description     |
        | UTP-2-04 | parameters      |
        | UTP-2-05 | target_subject  |
        | UTP-2-06 | after_execution |
        | UTP-2-07 | options         |

    @cap:registry.projects
    Scenario Outline: The <member> of a tool whose name another project has too
      Given the definition of a tool
      When the definition is uploaded, and another under its name in another project
      Then the row's "<member>" is as uploaded

      Examples:
        | rule     | member          |
        | UTP-2-03 | description     |
        | UTP-2-04 | parameters      |
        | UTP-2-05 | target_subject  |
        | UTP-2-06 | after_execution |
        | UTP-2-07 | options         |

    Scenario Outline: The <member> of a tool between two <alike>
      Given the definition of a tool
      When the definition is uploaded between two <alike>
      Then the row's "<member>" is as uploaded

      Examples:
        | rule     | member  | alike                                             |
        | UTP-2-07 | options | whose names differ from its name in case          |
        | UTP-2-07 | options | that have a letter for the underscore of its name |
        | UTP-2-07 | options | whose names begin with its name                   |

  Rule: A new version is stored, however little is new

    Scenario Outline: A new version that differs in its <member> only
      Given the definition of a tool
      When the definition is uploaded after one that differs in its "<member>" only
      Then the row's "<member>" is as uploaded

      Examples:
        | rule     | member          |
        | UTP-2-03 | description     |
        | UTP-2-04 | parameters      |
        | UTP-2-05 | target_subject  |
        | UTP-2-06 | after_execution |
        | UTP-2-07 | options         |

    @UTP-2-04
    Scenario: A new version after a faulty one
      Given the definition of a tool
      When the definition is uploaded after a good one and a faulty one of its name
      Then the row's "parameters" is as uploaded

  @UTP-2-04
  Rule: A schema is the same however it is written

    Scenario Outline: A schema <writing>
      Given the definition of a tool
      And the definition is written <writing>
      When the definition is uploaded
      Then the row's "parameters" is as uploaded

      Examples:
        | writing                        |
        | in flow style                  |
        | with comments                  |
        | with a text over several lines |

    Scenario Outline: A schema such as <schema>
      Given the definition of a tool
      And the definition's "parameters" is <schema>
      And the definition's "options" is {}
      When the definition is uploaded between two good ones
      Then the row's "parameters" is as uploaded

      Examples:
        | schema |
        | {"type": "object", "properties": {}} |
        | {"title": "Tides", "type": "object", "properties": {"at": {"$ref": "#/$defs/place"}}, "$defs": {"place": {"type": "string", "pattern": "^[A-Z]+$"}}} |
        | {"type": "object", "properties": {"when": {"oneOf": [{"type": "string"}, {"const": 0}], "examples": ["tomorrow", 0]}}, "minProperties": 1} |
        | {"type": "object", "properties": {"maxDays": {"type": "integer", "minimum": -7}, "at.lat": {"type": "number", "default": 0.0001}}} |

  @UTP-2-07
  Rule: Options are kept, whatever they hold

    Scenario Outline: Options such as <options>
      Given the definition of a tool
      And the definition's "options" is <options>
      When the definition is uploaded between two good ones
      Then the row's "options" is as uploaded

      Examples:
        | options |
        | {} |
        | {"suspend_timeout_seconds": 60, "timeout_s": 2.5, "ui_allowed": false} |
        | {"args": {"defaults": {"harbour": "00501", "session": "yes", "tenant": "2031-04-02", "api_key": "null"}}} |
        | {"args": {"defaults": {"harbour": "$HOME and ${HOME}", "session": "<b>1 & 2</b>", "tenant": "🌊", "api_key": "C:\\\\tide\\\\new"}}} |
        | {"args": {"defaults": {"harbour": "  m  ", "marks": [{"at": [3, 1, 3]}, {"at": [-0.0001, 2], "maxDays": {}}]}}} |

  @UTP-2-05
  Rule: A subject keeps its placeholders

    Scenario Outline: The subject <subject>
      Given the definition of a tool
      And the definition is for the subject "<subject>"
      When the definition is uploaded
      Then the row's "target_subject" is as uploaded

      Examples:
        | subject                     |
        | cmd.tool.<word>.lookup      |
        | cmd.tool.<word>             |
        | cmd.tool.<word>.lookup.fast |
        | cmd.tool.<word>.LookUp-2    |
        | cmd.tool.Tide_<word>.a.b.c  |

  @UTP-2-06
  Rule: Each of the two ends of a call is kept

    Scenario Outline: The after_execution <value>
      Given the definition of a tool
      And the definition's "after_execution" is <value>
      When the definition is uploaded
      Then the row's "after_execution" is as uploaded

      Examples:
        | value       |
        | "suspend"   |
        | "terminate" |

  # A registry that takes no such definition refuses it, and keeps the old version. One that takes it keeps all of it.
  Rule: A new version may hold what the old one had not

    @UTP-2-04
    Scenario Outline: A new version with a schema such as <schema>
      Given a new version of a registered tool
      And the definition's "parameters" is <schema>
      And the definition's "options" is {}
      When the definition is uploaded between two good ones
      Then the row's "parameters" is as uploaded

      Examples:
        | schema |
        | {"type": "object", "properties": {"day": {"type": "string", "format": "date", "x-unit": "d", "readOnly": true}}, "$comment": "kept", "x-order": ["day"], "patternProperties": {"^at_": {"type": "number"}}} |
        | {"type": "object", "properties": {"from": {"type": "string"}, "until": {"type": "string"}}, "allOf": [{"if": {"required": ["from"]}, "then": {"required": ["until"]}}], "not": {"required": ["never"]}, "dependentRequired": {"until": ["from"]}} |
        | {"type": "object", "properties": {"span": {"type": "array", "prefixItems": [{"type": "string"}, true], "items": false, "uniqueItems": true}, "marks": {"type": "array", "items": true, "contains": {"type": "string"}}}} |
        | {"type": "object", "properties": {"at": {"$ref": "#/$defs/place", "description": "Beside the reference.", "default": "Brest"}}, "$defs": {"place": {"anyOf": [{"type": "string"}, {"type": "null"}]}}} |
        | {"type": "object", "properties": {"near": {"type": "array", "default": ["Zeebrugge", "Antwerpen", "Brest"], "examples": [["b", "a"]]}, "precision": {"type": "number", "default": 0.1234567890123}}} |
        | {"type": "object", "properties": {"near": {"type": "array", "default": ["Brest", "Brest", "Zeebrugge"], "examples": [["a", "b", "a"]]}}} |

    @UTP-2-07
    Scenario Outline: A new version with options such as <options>
      Given a new version of a registered tool
      And the definition's "options" is <options>
      When the definition is uploaded between two good ones
      Then the row's "options" is as uploaded

      Examples:
        | options |
        | {"args": {"defaults": {}, "fixed": {"harbour": null, "days": 0, "detailed": false, "unit": "", "marks": []}}, "envs": {}} |
        | {"args": {"fixed": {"days": 7, "step": 2.5, "detailed": true, "marks": ["Zeebrugge", "Antwerpen", "Brest"], "harbour": {"name": "Brest"}}}} |
        | {"envs": {"api_key": "tides_api_key"}, "jina": {"mode": "reader", "base_url": "https://r.jina.ai/", "method": "post", "timeout": 30, "headers": {"X-Return-Format": "text"}, "no_cache": false}} |
        | {"Retry": {"maxTries": 3}, "x-team": ["tides"], "$note": "kept", "@type": "Options", "deep": {"a": {"b": {"c": {"d": {"e": {"f": {"g": [{"h": {"i": "j"}}]}}}}}}}} |
        | {"args": {"defaults": {"harbour": "one\\ttwo\\r\\nthree\\n", "session": "Le Havre, e\\u0301", "tenant": "high and low water for every harbour of the northern coast, with the height above chart datum, the time of each high and low water, the phase of the moon, and what the pilot book says of the currents off each pier, of the depth at the quay, and of the berths that fall dry at springs"}}} |

    @UTP-2-03
    Scenario Outline: A new version with a description such as <description>
      Given a new version of a registered tool
      And the definition's "description" is <description>
      When the definition is uploaded between two good ones
      Then the row's "description" is as uploaded

      Examples:
        | description |
        | "Tides of {project_id}, not filled in" |
        | "*Tides* of <b>one</b> harbour & its `quay`" |
        | "High and low water for every harbour of the northern coast, with the height above chart datum, the time of each high and low water, the phase of the moon, and what the pilot book says of the currents off each pier, of the depth at the quay, and of the berths that fall dry at springs" |
        | "  Tides, set in.\\n\\nAnd a last line\\n" |
        | "Tides of Sa\\u0303o Lui\\u0301s" |

  Rule: A new version may empty what the old one had

    Scenario Outline: A new version whose <member> is empty
      Given a new version of a registered tool
      And the definition's "<member>" is {}
      When the definition is uploaded between two good ones
      Then the row's "<member>" is as uploaded

      Examples:
        | rule     | member     |
        | UTP-2-04 | parameters |
        | UTP-2-07 | options    |

    # What the old version had and the new one lacks is no part of it.
    Scenario Outline: A new version after one with more <member>
      Given the definition of a tool
      And the definition's "<member>" is <value>
      When the definition is uploaded, then a new version
      Then the row's "<member>" is as uploaded

      Examples:
        | rule     | member     | value |
        | UTP-2-04 | parameters | {"type": "object", "title": "Tides", "properties": {"at": {"$ref": "#/$defs/place"}}, "$defs": {"place": {"type": "string"}}} |
        | UTP-2-04 | parameters | {"type": "object", "properties": {"from": {"type": "string"}, "until": {"type": "string"}}, "dependentRequired": {"until": ["from"]}, "$defs": {"mark": {"type": "number"}}} |
        | UTP-2-07 | options    | {"x-team": ["tides"], "args": {"fixed": {"harbour": "Brest"}}} |
        | UTP-2-07 | options    | {"x-team": [], "$note": "kept"} |

    @UTP-2-03
    Scenario: A new version without a description
      Given a new version of a registered tool
      And the definition has no "description"
      When the definition is uploaded
      Then the row's "description" is as uploaded

  @UTP-2-05
  Rule: A new version may have a longer subject than the old one

    Scenario: A new version with a subject of many parts
      Given a new version of a registered tool
      And the definition is for the subject "cmd.tool.<word>.high_and_low_water.every_harbour.northern_coast.as_the_chart_has_it.lookup"
      When the definition is uploaded between two good ones
      Then the row's "target_subject" is as uploaded

  # A registry that takes no such definition refuses it, and keeps the old version.
  Rule: Quotes, percent signs and braces are what they are

    Scenario Outline: A new version with <member> such as <value>
      Given a new version of a registered tool
      And the definition's "parameters" is {}
      And the definition's "options" is {}
      And the definition's "<member>" is <value>
      When the definition is uploaded between two good ones
      Then the row's "<member>" is as uploaded

      Examples:
        | rule     | member     | value |
        | UTP-2-04 | parameters | {"type": "object", "properties": {"share": {"type": "string", "description": "The harbour's share of 'all', as %d %% or {{share}}", "pattern": "^'?[0-9]+%$", "default": "it's 100 %"}}} |
        | UTP-2-07 | options    | {"description": "the pilot's", "args": {"defaults": {"harbour": "l'Aber Wrac'h", "session": "100 %, %s, %% and %(day)s", "tenant": "''", "api_key": "{{key}} and {key}"}}} |

  Rule: A text that looks like another value is a text

    @UTP-2-07
    Scenario Outline: Texts of options such as <options>
      Given the definition of a tool
      And the definition's "options" is <options>
      When the definition is uploaded between two good ones
      Then the row's "options" is as uploaded

      Examples:
        | options |
        | {"args": {"defaults": {"harbour": "12", "session": "true", "tenant": "2.5", "api_key": "false"}}} |
        | {"args": {"fixed": {"harbour": "-7", "session": "1e3", "tenant": "0x1F", "api_key": "12:30"}}} |

    @UTP-2-04
    Scenario: Texts of a schema
      Given the definition of a tool
      And the definition's "parameters" is {"type": "object", "properties": {"day": {"type": "string", "enum": ["1", "true", "2.5"], "default": "1"}}}
      And the definition's "options" is {}
      When the definition is uploaded between two good ones
      Then the row's "parameters" is as uploaded

  @UTP-2-02
  Rule: Neither other tools nor earlier versions use a name up

    Scenario: The name of the first of four tools
      Given a new version of a registered tool
      And the definition is named "low_<unique>"
      When the definition is uploaded
      Given the definition of a tool
      And the definition is named "tide_<unique>"
      When the definition is uploaded between two good ones
      Then the row's "tool_name" is as uploaded

    Scenario: The name of a tool that is uploaded four times
      Given the definition of a tool
      And the definition is named "ebb_<unique>"
      When the definition is uploaded
      And the definition is uploaded, then a new version, then the definition again
      Then the row's "tool_name" is as uploaded

  # A registry that takes no such definition refuses it, and keeps the old version.
  Rule: Texts and names are what they are, whatever they look like

    @UTP-2-07
    Scenario Outline: A new version with texts of options such as <options>
      Given a new version of a registered tool
      And the definition's "options" is <options>
      When the definition is uploaded between two good ones
      Then the row's "options" is as uploaded

      Examples:
        | options |
        | {"args": {"defaults": {"harbour": "pier # 1 of two", "session": "{\\"a\\": 1}", "tenant": "[1, 2]", "api_key": "#none"}}} |
        | {"args": {"defaults": {"harbour": "Brest &amp; Le&nbsp;Havre", "session": "a%20b+c", "tenant": "%7Btenant%7D", "api_key": "&lt;"}}} |
        | {"args": {"defaults": {"harbour": "nan", "session": "2031-04-02T10:00", "tenant": "off", "api_key": "-Infinity"}}} |
        | {"x-page": {"page_token": "first", "secretary": "Lund", "passwords": "none"}} |

    @UTP-2-07
    Scenario Outline: A new version with names in options such as <options>
      Given a new version of a registered tool
      And the definition's "options" is <options>
      When the definition is uploaded between two good ones
      Then the row's "options" is as uploaded

      Examples:
        | options |
        | {"x-units": {"yes": 1, "no": 2, "on": 3, "y": 4, "null": 5, "7": 6}} |
        | {"x-units": {"høyde": 1, "_b": 2, "c.d": 3, "e f": 4}} |
        | {"x-units": {"0": "m", "1": "ft"}} |

    @UTP-2-04
    Scenario Outline: A new version with names in its schema such as <schema>
      Given a new version of a registered tool
      And the definition's "parameters" is <schema>
      And the definition's "options" is {}
      When the definition is uploaded between two good ones
      Then the row's "parameters" is as uploaded

      Examples:
        | schema |
        | {"type": "object", "properties": {"type": {"type": "string"}, "properties": {"type": "object", "properties": {"description": {"type": "integer"}}}}, "required": ["type"]} |
        | {"type": "object", "properties": {"yes": {"type": "string"}, "no": {"type": "string"}, "on": {"type": "integer"}, "y": {"type": "number"}}} |
        | {"type": "object", "properties": {"høyde": {"type": "number"}, "_b": {"type": "string"}, "c.d": {"type": "string"}}} |
        | {"type": "object", "properties": {"0": {"type": "string"}, "1": {"type": "integer"}}} |
        | {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://tides.example/lookup", "type": "object", "properties": {"day": {"type": "string"}}} |
        | {"type": "object", "properties": {"step": {"enum": [0, false, 1, true, "1", "", null]}}} |

    @UTP-2-03
    Scenario: A new version with a description whose lines end with two characters
      Given a new version of a registered tool
      And the definition's "description" is "Tides of one harbour.\r\n\r\nAnd a last line."
      When the definition is uploaded between two good ones
      Then the row's "description" is as uploaded

    @UTP-2-03
    Scenario: A new version with a description of a whole page
      Given a new version of a registered tool
      And the definition's "description" is "High and low water for every harbour of the northern coast, as the chart has it. Name the harbour in full, and the days that are asked for. For each of them the answer has the times of high and low water, the heights above chart datum, the range, and whether it is springs or neaps. Heights are in metres, unless feet are asked for; times are those of the harbour, summer time where it is kept. Where the harbour has no table of its own, the one of the nearest standard port is taken, with the differences that the pilot book gives. Strong winds and low pressure are not in the table: with an onshore gale the water may stand half a metre higher, and with a high over the north it may stand lower. Do not use the answer for a passage over a bar or a sill without a look at the harbour's own notice. For streams off the piers, depths at the quay and berths that fall dry, use the tool for berths. For the phase of the moon and for sunrise there is the almanac. A harbour that is not known is answered with the names that come close to it, and one that has several basins with a list of these; ask again with one of them. More than thirty days in one call are refused."
      When the definition is uploaded between two good ones
      Then the row's "description" is as uploaded
