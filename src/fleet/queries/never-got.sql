got AS (
    SELECT tap, node, type FROM messages WHERE dir = 'resp' AND version = {version}
    UNION
    SELECT tap, node, type FROM streams WHERE in_force = {version}
),
clients AS (
    SELECT tap, node, type, arg_max(offered, ts_ns) AS newest_version, arg_max(state, ts_ns) AS state
    FROM streams
    WHERE node <> '' AND type IS NOT NULL{filters}
    GROUP BY tap, node, type
)
SELECT tap, node, type, newest_version, state
FROM clients
WHERE (tap, node, type) NOT IN (SELECT (tap, node, type) FROM got WHERE node IS NOT NULL)
    -- Versions of other types say nothing of this one.
    AND (type IN (SELECT type FROM got) OR NOT EXISTS (SELECT 1 FROM got))
ORDER BY tap, node, type;
