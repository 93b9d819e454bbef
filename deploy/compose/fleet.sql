-- Three owners' made-up trips in Paris, each in a table that its owner's role alone can read; setup.sh adds the passwords.
CREATE EXTENSION IF NOT EXISTS postgis;

SELECT setseed(0.5);
DO $$
DECLARE
    owner text;
BEGIN
    FOREACH owner IN ARRAY ARRAY['taxi_a', 'taxi_b', 'taxi_c'] LOOP
        EXECUTE format('CREATE TABLE %I (t timestamptz NOT NULL, fare double precision, geom geometry(Point, 4326))', owner);
        EXECUTE format(
            'INSERT INTO %I SELECT timestamptz ''2026-01-05 00:00Z'' + random() * interval ''7 days'', 5 + 40 * random(), '
            'ST_SetSRID(ST_MakePoint(2.2 + 0.3 * random(), 48.8 + 0.15 * random()), 4326) FROM generate_series(1, 2000)',
            owner);
        EXECUTE format('CREATE INDEX ON %I USING gist (geom)', owner);
        EXECUTE format('CREATE ROLE %I LOGIN', owner);
        EXECUTE format('GRANT SELECT ON %I TO %I', owner, owner);
    END LOOP;
END $$;
