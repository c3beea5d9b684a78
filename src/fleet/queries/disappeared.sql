pushed AS (
    SELECT *,
        lag(version) OVER resource AS version_before,
        row_number() OVER (resource ORDER BY ts_ns DESC, seq DESC) AS age
    FROM resources
    WHERE change <> 'refused'{filters}
    WINDOW resource AS (PARTITION BY tap, coalesce(node, batch || '#' || stream), type, name)
)
SELECT ts, control_plane, node, type, name, version, batch, seq
FROM pushed
WHERE change = 'removed' AND age = 1
ORDER BY ts, node, type, name;
