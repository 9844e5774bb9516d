-- What the system knows: cards, the roster and the Inbox. `origin` says who wrote a row; what the system writes itself is
-- put into `outgoing` by a trigger, in the order in which it was written, and the bridge hears of it.
-- The columns are `json`, not `jsonb`: a card comes back exactly as it was written.

CREATE TABLE cards (
    project_id text,
    card_id text,
    card json, -- null: the platform has no such card
    origin text NOT NULL DEFAULT 'system',
    PRIMARY KEY (project_id, card_id)
);

CREATE TABLE roster (
    project_id text,
    agent_id text,
    agent json, -- null: the platform knows no such agent
    PRIMARY KEY (project_id, agent_id)
);

CREATE TABLE inbox (
    id bigserial PRIMARY KEY,
    project_id text NOT NULL,
    channel_id text NOT NULL,
    report json NOT NULL,
    headers json NOT NULL,
    inbox_id text -- what the platform calls the record
);

CREATE TABLE outgoing (
    id bigserial PRIMARY KEY,
    subject text NOT NULL,
    body json NOT NULL,
    headers json NOT NULL DEFAULT '{}',
    inbox bigint REFERENCES inbox
);

CREATE FUNCTION card_leaves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO outgoing (subject, body)
    VALUES (format('l0.v1.%s.cards.save', NEW.project_id), json_build_object('card', NEW.card));
    NOTIFY outgoing;
    RETURN NULL;
END $$;

CREATE FUNCTION card_arrives() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NOTIFY cards;
    RETURN NULL;
END $$;

CREATE FUNCTION report_leaves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO outgoing (subject, body, headers, inbox)
    VALUES (format('l0.v1.%s.%s.report', NEW.project_id, NEW.channel_id), NEW.report, NEW.headers, NEW.id);
    NOTIFY outgoing;
    RETURN NULL;
END $$;

CREATE TRIGGER card_leaves AFTER INSERT OR UPDATE ON cards
    FOR EACH ROW WHEN (NEW.origin = 'system') EXECUTE FUNCTION card_leaves();
CREATE TRIGGER card_arrives AFTER INSERT OR UPDATE ON cards
    FOR EACH ROW WHEN (NEW.origin = 'platform') EXECUTE FUNCTION card_arrives();
CREATE TRIGGER report_leaves AFTER INSERT ON inbox
    FOR EACH ROW EXECUTE FUNCTION report_leaves();
