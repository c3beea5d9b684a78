refused AS (
    SELECT resources.*, messages.error_text
    FROM resources
    JOIN messages ON messages.batch = resources.batch AND messages.seq = resources.seq
    WHERE resources.change = 'refused'
)
SELECT node, type, version, name, count(*) AS refusals, max(ts) AS newest,
    arg_max(error_text, ts_ns) AS reason
FROM refused
WHERE ts_ns > {at} - {hours} * 3600000000000 AND ts_ns <= {at}{filters}
GROUP BY node, type, version, name
ORDER BY refusals DESC, node, type, version, name;
