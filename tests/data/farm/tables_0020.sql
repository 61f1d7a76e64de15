-- A farm's tables as the release with several branches had them: a row of each kind.
-- On SQLite, made by the tests' fakes of that release.
BEGIN TRANSACTION;
CREATE TABLE bench_ab_test (
	id INTEGER NOT NULL, 
	series TEXT NOT NULL, 
	iterations INTEGER NOT NULL, 
	confidence DOUBLE NOT NULL, 
	min_effect DOUBLE NOT NULL, 
	requester TEXT NOT NULL, 
	state VARCHAR(24) NOT NULL, 
	detail TEXT, 
	created_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	version INTEGER NOT NULL, 
	decided_by TEXT, 
	resumed_at DOUBLE, 
	PRIMARY KEY (id)
);
INSERT INTO "bench_ab_test" VALUES(1,'[["apu", "forwarding"]]',5,95.0,0.02,'ann','done',NULL,1800518533.0,1800518533.0,1,NULL,NULL);
INSERT INTO "bench_ab_test" VALUES(2,'[["apu", "forwarding"]]',5,95.0,0.02,'ann','awaiting approval',NULL,1800518548.0,NULL,1,NULL,NULL);
INSERT INTO "bench_ab_test" VALUES(3,'[["apu", "forwarding"]]',5,95.0,0.02,'ann','rejected','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,1,NULL,NULL);
INSERT INTO "bench_ab_test" VALUES(4,'[["apu", "forwarding"]]',5,95.0,0.02,'ann','running',NULL,1800518548.0,NULL,1,NULL,NULL);
INSERT INTO "bench_ab_test" VALUES(5,'[["apu", "forwarding"]]',5,95.0,0.02,'ann','cancelling',NULL,1800518548.0,NULL,1,NULL,NULL);
INSERT INTO "bench_ab_test" VALUES(6,'[["apu", "forwarding"]]',5,95.0,0.02,'ann','cancelled','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,1,NULL,NULL);
INSERT INTO "bench_ab_test" VALUES(7,'[["apu", "forwarding"]]',5,95.0,0.02,'ann','untestable','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,1,NULL,NULL);
INSERT INTO "bench_ab_test" VALUES(8,'[["apu", "forwarding"]]',5,95.0,0.02,'ann','failed','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,1,NULL,NULL);
CREATE TABLE bench_ab_test_variant (
	id INTEGER NOT NULL, 
	ab_test_id INTEGER NOT NULL, 
	ordinal INTEGER NOT NULL, 
	image_id INTEGER NOT NULL, 
	tunables TEXT NOT NULL, 
	variant TEXT NOT NULL, 
	label TEXT NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_ab_test_variant_ab_test_id_fk FOREIGN KEY(ab_test_id) REFERENCES bench_ab_test (id), 
	CONSTRAINT bench_ab_test_variant_image_id_fk FOREIGN KEY(image_id) REFERENCES bench_image (id), 
	CONSTRAINT bench_ab_test_variant_ab_test_id_ordinal_key UNIQUE (ab_test_id, ordinal)
);
INSERT INTO "bench_ab_test_variant" VALUES(1,1,0,9,'','r3','r3');
INSERT INTO "bench_ab_test_variant" VALUES(2,1,1,19,'','r3+VIMAGE','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}');
INSERT INTO "bench_ab_test_variant" VALUES(3,1,2,10,'','r4','r4');
INSERT INTO "bench_ab_test_variant" VALUES(4,2,0,11,'','r5','r5');
INSERT INTO "bench_ab_test_variant" VALUES(5,2,1,20,'','r5+79c618590502','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}');
INSERT INTO "bench_ab_test_variant" VALUES(6,2,2,12,'','r6','r6');
INSERT INTO "bench_ab_test_variant" VALUES(7,3,0,9,'','r3','r3');
INSERT INTO "bench_ab_test_variant" VALUES(8,3,1,21,'','r3+INVARIANTS','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}');
INSERT INTO "bench_ab_test_variant" VALUES(9,3,2,10,'','r4','r4');
INSERT INTO "bench_ab_test_variant" VALUES(10,4,0,10,'','r4','r4');
INSERT INTO "bench_ab_test_variant" VALUES(11,4,1,22,'','r4+INVARIANTS','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}');
INSERT INTO "bench_ab_test_variant" VALUES(12,4,2,11,'','r5','r5');
INSERT INTO "bench_ab_test_variant" VALUES(13,5,0,11,'','r5','r5');
INSERT INTO "bench_ab_test_variant" VALUES(14,5,1,23,'','r5+INVARIANTS','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}');
INSERT INTO "bench_ab_test_variant" VALUES(15,5,2,12,'','r6','r6');
INSERT INTO "bench_ab_test_variant" VALUES(16,6,0,12,'','r6','r6');
INSERT INTO "bench_ab_test_variant" VALUES(17,6,1,24,'','r6+INVARIANTS','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}');
INSERT INTO "bench_ab_test_variant" VALUES(18,6,2,13,'','r7','r7');
INSERT INTO "bench_ab_test_variant" VALUES(19,7,0,14,'','r8','r8');
INSERT INTO "bench_ab_test_variant" VALUES(20,7,1,25,'','r8+INVARIANTS','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}');
INSERT INTO "bench_ab_test_variant" VALUES(21,7,2,15,'','r9','r9');
INSERT INTO "bench_ab_test_variant" VALUES(22,8,0,15,'','r9','r9');
INSERT INTO "bench_ab_test_variant" VALUES(23,8,1,26,'','r9+INVARIANTS','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}');
INSERT INTO "bench_ab_test_variant" VALUES(24,8,2,16,'','r10','r10');
CREATE TABLE bench_alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT bench_alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "bench_alembic_version" VALUES('0020');
CREATE TABLE bench_artefact (
	id INTEGER NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	size BIGINT NOT NULL, 
	stored_at DOUBLE NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_artefact_digest_key UNIQUE (digest)
);
INSERT INTO "bench_artefact" VALUES(1,'1-00000000000000000000000000000000000000000000000000000000000000',9,1800000000.0);
INSERT INTO "bench_artefact" VALUES(2,'2-00000000000000000000000000000000000000000000000000000000000000',9,1800000000.0);
INSERT INTO "bench_artefact" VALUES(3,'3-00000000000000000000000000000000000000000000000000000000000000',9,1800000000.0);
INSERT INTO "bench_artefact" VALUES(4,'4-00000000000000000000000000000000000000000000000000000000000000',9,1800000000.0);
INSERT INTO "bench_artefact" VALUES(5,'5-00000000000000000000000000000000000000000000000000000000000000',9,1800000000.0);
INSERT INTO "bench_artefact" VALUES(6,'6-00000000000000000000000000000000000000000000000000000000000000',9,1800000000.0);
INSERT INTO "bench_artefact" VALUES(7,'7-00000000000000000000000000000000000000000000000000000000000000',9,1800000000.0);
INSERT INTO "bench_artefact" VALUES(8,'8-00000000000000000000000000000000000000000000000000000000000000',9,1800000000.0);
INSERT INTO "bench_artefact" VALUES(9,'9-00000000000000000000000000000000000000000000000000000000000000',9,1800000000.0);
INSERT INTO "bench_artefact" VALUES(10,'a-00000000000000000000000000000000000000000000000000000000000000',9,1800000000.0);
INSERT INTO "bench_artefact" VALUES(11,'b-00000000000000000000000000000000000000000000000000000000000000',9,1800000000.0);
INSERT INTO "bench_artefact" VALUES(12,'9-other000000000000000000000000000000000000000000000000000000000',9,1800518548.0);
INSERT INTO "bench_artefact" VALUES(13,'a-other000000000000000000000000000000000000000000000000000000000',9,1800518548.0);
CREATE TABLE bench_branch (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	trunk TEXT, 
	fork_position INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_branch_name_key UNIQUE (name)
);
INSERT INTO "bench_branch" VALUES(1,'main',NULL,0);
INSERT INTO "bench_branch" VALUES(2,'stable/14','main',8);
CREATE TABLE bench_capture (
	id INTEGER NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	counter TEXT NOT NULL, 
	taken_at DOUBLE NOT NULL, 
	body BLOB NOT NULL, packets INTEGER DEFAULT '0' NOT NULL, places BLOB, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_capture_digest_key UNIQUE (digest)
);
INSERT INTO "bench_capture" VALUES(1,'ea35f949de81ca1da5391d4a423f6223ab35117a162f10dc6071c8bd2fd87479','cycles',1800518528.0,X'1F8B0800000000000203CB4DCCCCB3CE2C88CFCC2B282D51303730E04A2E288DCF4CC94955300672004FF807601F000000',0,NULL);
CREATE TABLE bench_commit (
	id INTEGER NOT NULL, 
	branch TEXT NOT NULL, 
	sha VARCHAR(40) NOT NULL, 
	position INTEGER NOT NULL, 
	parent_sha VARCHAR(40), 
	svn INTEGER, 
	subject TEXT NOT NULL, 
	author TEXT NOT NULL, 
	committed_at_s BIGINT NOT NULL, 
	important BOOLEAN NOT NULL, 
	arrived_at DOUBLE NOT NULL, no_op_of TEXT, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_commit_branch_position_key UNIQUE (branch, position), 
	CONSTRAINT bench_commit_branch_sha_key UNIQUE (branch, sha)
);
INSERT INTO "bench_commit" VALUES(1,'main','8adaae8af45f4ee924b98015ab10635bcc635a1c',1,NULL,1,'Change 1','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(2,'main','895d1022dd947a50788ac6c43cf1e6beede10a6c',2,'8adaae8af45f4ee924b98015ab10635bcc635a1c',2,'Change 2','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(3,'main','107f776f8cdb7ef476cbe0e94d63e3554a926333',3,'895d1022dd947a50788ac6c43cf1e6beede10a6c',3,'Change 3','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(4,'main','b873d9370de3ae22035cf70d6087bd7b581bc89a',4,'107f776f8cdb7ef476cbe0e94d63e3554a926333',4,'Change 4','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(5,'main','9237b6a7c65f29b33ef4cc80bc61865fba7f3126',5,'b873d9370de3ae22035cf70d6087bd7b581bc89a',5,'Change 5','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(6,'main','d90a7a665d8b0f5f8232177565498294b2bbe940',6,'9237b6a7c65f29b33ef4cc80bc61865fba7f3126',6,'Change 6','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(7,'main','ea5554a5e25aeba1f34c6fc7b66b453d32d88e29',7,'d90a7a665d8b0f5f8232177565498294b2bbe940',7,'Change 7','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(8,'main','1c240c60245fda4a397042279a8da43eded0c975',8,'ea5554a5e25aeba1f34c6fc7b66b453d32d88e29',8,'Change 8','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(9,'main','e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c',9,'1c240c60245fda4a397042279a8da43eded0c975',9,'Change 9','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(10,'main','8629b7060ca6e4e1ac55e897bb826a606bdc5f68',10,'e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c',10,'Change 10','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(11,'main','1b57b1ec435bba3853436258d7f46ece8067db04',11,'8629b7060ca6e4e1ac55e897bb826a606bdc5f68',11,'Change 11','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(12,'main','3db4b73dde4a61ebb4165a31a283a9b6f0de2784',12,'1b57b1ec435bba3853436258d7f46ece8067db04',12,'Change 12','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(13,'main','9dbbf77db97971d3bd5fcd093d646f27b26e72b0',13,'3db4b73dde4a61ebb4165a31a283a9b6f0de2784',13,'Change 13','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(14,'main','87ec92fb29518f2ab5684a740b287bf919eb39da',14,'9dbbf77db97971d3bd5fcd093d646f27b26e72b0',14,'Change 14','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(15,'main','255af64529a1da3318b7549295cfad7bab70c275',15,'87ec92fb29518f2ab5684a740b287bf919eb39da',15,'Change 15','',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(16,'main','4fde585e22fd78384a3886e333554f07506efdb5',16,'255af64529a1da3318b7549295cfad7bab70c275',16,'Change 16','',0,0,0.0,NULL);
INSERT INTO "bench_commit" VALUES(17,'main','87720405b2c35b7bda4aac76c1e19a4ef2ef82d1',17,'4fde585e22fd78384a3886e333554f07506efdb5',17,'Change 17','',0,0,0.0,NULL);
INSERT INTO "bench_commit" VALUES(18,'main','6a6827a8957a0cf7e8c2f23f39890775aec2d0e7',18,'87720405b2c35b7bda4aac76c1e19a4ef2ef82d1',18,'Change 18','',0,0,0.0,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}');
INSERT INTO "bench_commit" VALUES(19,'stable/14','0000000000000000000000000000000000000009',9,NULL,NULL,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',0,1,0.0,NULL);
INSERT INTO "bench_commit" VALUES(20,'stable/14','000000000000000000000000000000000000000a',10,NULL,NULL,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',0,1,0.0,NULL);
CREATE TABLE bench_image (
	id INTEGER NOT NULL, 
	sha VARCHAR(40) NOT NULL, 
	variant TEXT NOT NULL, 
	ordinal INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	label TEXT NOT NULL, 
	state VARCHAR(24) NOT NULL, 
	attempt INTEGER NOT NULL, 
	brid INTEGER, 
	reason TEXT, 
	digest TEXT, 
	size BIGINT, 
	path TEXT, 
	build_s DOUBLE, 
	created_at DOUBLE NOT NULL, 
	changed_at DOUBLE NOT NULL, 
	version INTEGER NOT NULL, kernel_digest TEXT, manifest TEXT, read_files VARCHAR(64), built_by VARCHAR(64), branch TEXT, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_image_variant_ordinal_key UNIQUE (variant, ordinal)
);
INSERT INTO "bench_image" VALUES(1,'9dbbf77db97971d3bd5fcd093d646f27b26e72b0','9dbbf77db97971d3bd5fcd093d646f27b26e72b0',0,13,'r13','wanted',0,NULL,NULL,NULL,NULL,NULL,NULL,1800000000.0,1800000000.0,1,NULL,NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(2,'87ec92fb29518f2ab5684a740b287bf919eb39da','87ec92fb29518f2ab5684a740b287bf919eb39da',0,14,'r14','building',0,NULL,NULL,NULL,NULL,NULL,NULL,1800000000.0,1800000000.0,1,NULL,NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(3,'255af64529a1da3318b7549295cfad7bab70c275','255af64529a1da3318b7549295cfad7bab70c275',0,15,'r15','failed',0,NULL,NULL,NULL,NULL,NULL,NULL,1800000000.0,1800000000.0,1,NULL,NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(4,'4fde585e22fd78384a3886e333554f07506efdb5','4fde585e22fd78384a3886e333554f07506efdb5',0,16,'r16','dropped',0,NULL,NULL,NULL,NULL,NULL,NULL,1800000000.0,1800000000.0,1,NULL,NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(5,'87720405b2c35b7bda4aac76c1e19a4ef2ef82d1','87720405b2c35b7bda4aac76c1e19a4ef2ef82d1',0,17,'r17','held',0,NULL,NULL,NULL,NULL,NULL,NULL,1800000000.0,1800000000.0,1,NULL,NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(6,'3db4b73dde4a61ebb4165a31a283a9b6f0de2784','3db4b73dde4a61ebb4165a31a283a9b6f0de2784',0,12,'r12','untestable',0,NULL,'does not compile: �=cmd|'' /C calc''!A0 � ‮<script>%s{0}',NULL,NULL,NULL,NULL,1800000000.0,1800000000.0,1,NULL,NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(7,'8adaae8af45f4ee924b98015ab10635bcc635a1c','8adaae8af45f4ee924b98015ab10635bcc635a1c',0,1,'r1','built',0,NULL,NULL,'1-00000000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800000000.0,1800000003.0,3,'0000000000000000000000000000000000000000000000000000000000000001',NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(8,'895d1022dd947a50788ac6c43cf1e6beede10a6c','895d1022dd947a50788ac6c43cf1e6beede10a6c',0,2,'r2','built',0,NULL,NULL,'2-00000000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800000000.0,1800000100.0,4,'0000000000000000000000000000000000000000000000000000000000000002',NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(9,'107f776f8cdb7ef476cbe0e94d63e3554a926333','107f776f8cdb7ef476cbe0e94d63e3554a926333',0,3,'r3','built',0,NULL,NULL,'3-00000000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800000000.0,1800518548.0,9,'0000000000000000000000000000000000000000000000000000000000000003',NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(10,'b873d9370de3ae22035cf70d6087bd7b581bc89a','b873d9370de3ae22035cf70d6087bd7b581bc89a',0,4,'r4','built',0,NULL,NULL,'4-00000000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800000000.0,1800518548.0,14,'0000000000000000000000000000000000000000000000000000000000000004',NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(11,'9237b6a7c65f29b33ef4cc80bc61865fba7f3126','9237b6a7c65f29b33ef4cc80bc61865fba7f3126',0,5,'r5','built',0,NULL,NULL,'5-00000000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800000000.0,1800518548.0,6,'0000000000000000000000000000000000000000000000000000000000000005',NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(12,'d90a7a665d8b0f5f8232177565498294b2bbe940','d90a7a665d8b0f5f8232177565498294b2bbe940',0,6,'r6','built',0,NULL,NULL,'6-00000000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800000000.0,1800518548.0,9,'0000000000000000000000000000000000000000000000000000000000000006',NULL,'42b80e0a3d1c163a42196b973fa75aba4490b5a941424db19e8c5f996172217d',NULL,'main');
INSERT INTO "bench_image" VALUES(13,'ea5554a5e25aeba1f34c6fc7b66b453d32d88e29','ea5554a5e25aeba1f34c6fc7b66b453d32d88e29',0,7,'r7','built',0,NULL,NULL,'7-00000000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800000000.0,1800518548.0,6,'0000000000000000000000000000000000000000000000000000000000000007',NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(14,'1c240c60245fda4a397042279a8da43eded0c975','1c240c60245fda4a397042279a8da43eded0c975',0,8,'r8','built',0,NULL,NULL,'8-00000000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800000000.0,1800518548.0,5,'0000000000000000000000000000000000000000000000000000000000000008',NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(15,'e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c','e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c',0,9,'r9','built',0,NULL,NULL,'9-00000000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800000000.0,1800518548.0,11,'0000000000000000000000000000000000000000000000000000000000000009',NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(16,'8629b7060ca6e4e1ac55e897bb826a606bdc5f68','8629b7060ca6e4e1ac55e897bb826a606bdc5f68',0,10,'r10','built',0,NULL,NULL,'a-00000000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800000000.0,1800518548.0,6,'000000000000000000000000000000000000000000000000000000000000000a',NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(17,'1b57b1ec435bba3853436258d7f46ece8067db04','1b57b1ec435bba3853436258d7f46ece8067db04',0,11,'r11','built',0,NULL,NULL,'b-00000000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800000000.0,1800518518.0,5,'000000000000000000000000000000000000000000000000000000000000000b',NULL,NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(18,'d90a7a665d8b0f5f8232177565498294b2bbe940','d90a7a665d8b0f5f8232177565498294b2bbe940',1,6,'r6','built',0,NULL,NULL,'6-10000000000000000000000000000000000000000000000000000000000000',9,NULL,12.5,1800000000.0,1800000000.0,1,NULL,'{"compiler": "\u0000=cmd|'' /C calc''!A0 \ud800 \u202e<script>%s{0}", "flags": ["-O2"]}',NULL,NULL,'main');
INSERT INTO "bench_image" VALUES(19,'107f776f8cdb7ef476cbe0e94d63e3554a926333','107f776f8cdb7ef476cbe0e94d63e3554a926333+options:VIMAGE',0,3,'r3+VIMAGE','built',0,NULL,NULL,'c7b8a361cbe95d78ec5c2195ba5c50a6773ddb09fcc7354ed91d1e28db7e7fed',9,NULL,NULL,1800518533.0,1800518533.0,1,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "bench_image" VALUES(20,'9237b6a7c65f29b33ef4cc80bc61865fba7f3126','9237b6a7c65f29b33ef4cc80bc61865fba7f3126+patch:79c618590502048397e454df3615385da8207d5ae843210f85cf7425337abbd5',0,5,'r5+79c618590502','held',0,NULL,NULL,'04562a36a741df463474e49ecc9521b3b9c88b6312ca89c5f97aaa26c064f05e',9,NULL,NULL,1800518548.0,1800518548.0,2,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "bench_image" VALUES(21,'107f776f8cdb7ef476cbe0e94d63e3554a926333','107f776f8cdb7ef476cbe0e94d63e3554a926333+nooptions:INVARIANTS',0,3,'r3+INVARIANTS','built',0,NULL,NULL,'80378856b8f5134ff5c84e6fc961dee3def0c4eaa3e39a34e53a138e7ce8af4a',9,NULL,NULL,1800518548.0,1800518548.0,1,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "bench_image" VALUES(22,'b873d9370de3ae22035cf70d6087bd7b581bc89a','b873d9370de3ae22035cf70d6087bd7b581bc89a+nooptions:INVARIANTS',0,4,'r4+INVARIANTS','built',0,NULL,NULL,'bfa7999f944a07823a3fccf9185cac43d34544b205450ec209765c8f38fa5a88',9,NULL,NULL,1800518548.0,1800518548.0,1,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "bench_image" VALUES(23,'9237b6a7c65f29b33ef4cc80bc61865fba7f3126','9237b6a7c65f29b33ef4cc80bc61865fba7f3126+nooptions:INVARIANTS',0,5,'r5+INVARIANTS','built',0,NULL,NULL,'93e1506a9e2190f925e2a8ed3bfb097fb67ab7edc9de5c0a5b87ba0b0f645059',9,NULL,NULL,1800518548.0,1800518548.0,1,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "bench_image" VALUES(24,'d90a7a665d8b0f5f8232177565498294b2bbe940','d90a7a665d8b0f5f8232177565498294b2bbe940+nooptions:INVARIANTS',0,6,'r6+INVARIANTS','built',0,NULL,NULL,'a9e29dbcc613fcf69f0f73863079643081784cbd30302804bb7dd5e83bd621e6',9,NULL,NULL,1800518548.0,1800518548.0,1,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "bench_image" VALUES(25,'1c240c60245fda4a397042279a8da43eded0c975','1c240c60245fda4a397042279a8da43eded0c975+nooptions:INVARIANTS',0,8,'r8+INVARIANTS','built',0,NULL,NULL,'565095764e929b98f60b1be3434ec4907b287cfffdb3d6ef397a7a697fe9a407',9,NULL,NULL,1800518548.0,1800518548.0,1,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "bench_image" VALUES(26,'e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c','e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c+nooptions:INVARIANTS',0,9,'r9+INVARIANTS','built',0,NULL,NULL,'16f960381ced78f478194f950d9c3c81b5008ee73f29b04c1c315028128b13fb',9,NULL,NULL,1800518548.0,1800518548.0,1,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "bench_image" VALUES(27,'0000000000000000000000000000000000000009','0000000000000000000000000000000000000009',0,9,'r9','built',0,NULL,NULL,'9-other000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800518548.0,1800518548.0,1,NULL,NULL,NULL,NULL,'stable/14');
INSERT INTO "bench_image" VALUES(28,'000000000000000000000000000000000000000a','000000000000000000000000000000000000000a',0,10,'r10','built',0,NULL,NULL,'a-other000000000000000000000000000000000000000000000000000000000',9,NULL,NULL,1800518553.0,1800518553.0,1,NULL,NULL,NULL,NULL,'stable/14');
CREATE TABLE bench_incident_series (
	id INTEGER NOT NULL, 
	search_id INTEGER NOT NULL, 
	testbed TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	old_sha VARCHAR(40) NOT NULL, 
	old_position INTEGER NOT NULL, 
	new_sha VARCHAR(40) NOT NULL, 
	new_position INTEGER NOT NULL, 
	claimed DOUBLE NOT NULL, 
	judgement_id INTEGER, 
	standing VARCHAR(24) NOT NULL, 
	effect DOUBLE, 
	low DOUBLE, 
	high DOUBLE, 
	reason TEXT NOT NULL, 
	own_search_id INTEGER, 
	created_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_incident_series_search_id_fk FOREIGN KEY(search_id) REFERENCES bench_search (id), 
	CONSTRAINT bench_incident_series_judgement_id_fk FOREIGN KEY(judgement_id) REFERENCES bench_judgement (id), 
	CONSTRAINT bench_incident_series_own_search_id_fk FOREIGN KEY(own_search_id) REFERENCES bench_search (id), 
	CONSTRAINT bench_incident_series_search_id_testbed_workload_key UNIQUE (search_id, testbed, workload)
);
INSERT INTO "bench_incident_series" VALUES(1,1,'apu','waiting �=cmd|'' /C calc''!A0 � ‮<script>%s{0}','pps','8adaae8af45f4ee924b98015ab10635bcc635a1c',1,'1b57b1ec435bba3853436258d7f46ece8067db04',11,-0.2,NULL,'waiting',NULL,NULL,NULL,'',NULL,1800518533.0,NULL,0);
INSERT INTO "bench_incident_series" VALUES(2,1,'apu','confirmed �=cmd|'' /C calc''!A0 � ‮<script>%s{0}','pps','8adaae8af45f4ee924b98015ab10635bcc635a1c',1,'1b57b1ec435bba3853436258d7f46ece8067db04',11,-0.2,NULL,'confirmed',-0.1,-0.11,-0.09,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',NULL,1800518533.0,9.0,1);
INSERT INTO "bench_incident_series" VALUES(3,1,'apu','denied �=cmd|'' /C calc''!A0 � ‮<script>%s{0}','pps','8adaae8af45f4ee924b98015ab10635bcc635a1c',1,'1b57b1ec435bba3853436258d7f46ece8067db04',11,-0.2,NULL,'denied',-0.1,-0.11,-0.09,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',2,1800518533.0,9.0,1);
INSERT INTO "bench_incident_series" VALUES(4,1,'apu','unclear �=cmd|'' /C calc''!A0 � ‮<script>%s{0}','pps','8adaae8af45f4ee924b98015ab10635bcc635a1c',1,'1b57b1ec435bba3853436258d7f46ece8067db04',11,-0.2,NULL,'unclear',-0.1,-0.11,-0.09,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',NULL,1800518533.0,9.0,1);
CREATE TABLE bench_iteration (
	id INTEGER NOT NULL, 
	probe_id INTEGER NOT NULL, 
	image_id INTEGER NOT NULL, 
	testbed TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	epoch TEXT NOT NULL, 
	ordinal INTEGER NOT NULL, 
	unit TEXT NOT NULL, 
	is_primary BOOLEAN NOT NULL, 
	value DOUBLE, 
	failure TEXT, 
	at_s DOUBLE NOT NULL, 
	duration_s DOUBLE NOT NULL, 
	facts TEXT NOT NULL, 
	log TEXT NOT NULL, tunables TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_iteration_probe_id_ordinal_unit_key UNIQUE (probe_id, ordinal, unit), 
	CONSTRAINT bench_iteration_probe_id_fk FOREIGN KEY(probe_id) REFERENCES bench_probe (id), 
	CONSTRAINT bench_iteration_image_id_fk FOREIGN KEY(image_id) REFERENCES bench_image (id)
);
INSERT INTO "bench_iteration" VALUES(1,1,7,'xeon','forwarding','',0,'instructions/packet',1,1000.0,NULL,1800000001.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(2,1,7,'xeon','forwarding','',1,'instructions/packet',1,1000.0,NULL,1800000002.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(3,1,7,'xeon','forwarding','',2,'instructions/packet',1,1000.0,NULL,1800000003.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(4,2,7,'apu','forwarding','1',0,'pps',1,1.0051527390126218088e+06,NULL,1800000004.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(5,2,7,'apu','forwarding','1',1,'pps',1,1.00579778243479900996e+06,NULL,1800000005.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(6,2,7,'apu','forwarding','1',2,'pps',1,1.00026534323575312733e+06,NULL,1800000006.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(7,2,7,'apu','forwarding','1',3,'pps',1,9.96941825396113446948e+05,NULL,1800000007.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(8,2,7,'apu','forwarding','1',4,'pps',1,9.95631307139583514049e+05,NULL,1800000008.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(9,3,8,'xeon','forwarding','',0,'instructions/packet',1,1000.0,NULL,1800000009.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(10,3,8,'xeon','forwarding','',1,'instructions/packet',1,1000.0,NULL,1800000010.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(11,3,8,'xeon','forwarding','',2,'instructions/packet',1,1000.0,NULL,1800000011.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(12,4,8,'apu','forwarding','1',0,'pps',1,1.00935266694470366928e+06,NULL,1800000012.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(13,4,8,'apu','forwarding','1',1,'pps',1,9.97348584367732750224e+05,NULL,1800000013.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(14,4,8,'apu','forwarding','1',2,'pps',1,1.00157943848492461257e+06,NULL,1800000014.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(15,4,8,'apu','forwarding','1',3,'pps',1,1.0005860857889574254e+06,NULL,1800000015.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(16,4,8,'apu','forwarding','1',4,'pps',1,1.0033405943186695222e+06,NULL,1800000016.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(17,5,9,'xeon','forwarding','',0,'instructions/packet',1,1000.0,NULL,1800000017.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(18,5,9,'xeon','forwarding','',1,'instructions/packet',1,1000.0,NULL,1800000018.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(19,5,9,'xeon','forwarding','',2,'instructions/packet',1,1000.0,NULL,1800000019.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(20,6,9,'apu','forwarding','1',0,'pps',1,1.00037883215314929842e+06,NULL,1800000020.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(21,6,9,'apu','forwarding','1',1,'pps',1,1.00500009752433432726e+06,NULL,1800000021.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(22,6,9,'apu','forwarding','1',2,'pps',1,9.96274486529117217319e+05,NULL,1800000022.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(23,6,9,'apu','forwarding','1',3,'pps',1,1.00396950912207702641e+06,NULL,1800000023.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(24,6,9,'apu','forwarding','1',4,'pps',1,9.98963381849226308983e+05,NULL,1800000024.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(25,7,10,'xeon','forwarding','',0,'instructions/packet',1,1000.0,NULL,1800000025.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(26,7,10,'xeon','forwarding','',1,'instructions/packet',1,1000.0,NULL,1800000026.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(27,7,10,'xeon','forwarding','',2,'instructions/packet',1,1000.0,NULL,1800000027.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(28,8,10,'apu','forwarding','1',0,'pps',1,1.00016342377917235716e+06,NULL,1800000028.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(29,8,10,'apu','forwarding','1',1,'pps',1,1.00185946168055781168e+06,NULL,1800000029.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(30,8,10,'apu','forwarding','1',2,'pps',1,9.98156408657443243968e+05,NULL,1800000030.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(31,8,10,'apu','forwarding','1',3,'pps',1,1.00141050265192508227e+06,NULL,1800000031.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(32,8,10,'apu','forwarding','1',4,'pps',1,1.00370468410735006912e+06,NULL,1800000032.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(33,9,11,'xeon','forwarding','',0,'instructions/packet',1,1000.0,NULL,1800000033.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(34,9,11,'xeon','forwarding','',1,'instructions/packet',1,1000.0,NULL,1800000034.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(35,9,11,'xeon','forwarding','',2,'instructions/packet',1,1000.0,NULL,1800000035.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(36,10,11,'apu','forwarding','1',0,'pps',1,9.95284632995077292449e+05,NULL,1800000036.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(37,10,11,'apu','forwarding','1',1,'pps',1,9.95407357276836875833e+05,NULL,1800000037.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(38,10,11,'apu','forwarding','1',2,'pps',1,1.00267787565754388926e+06,NULL,1800000038.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(39,10,11,'apu','forwarding','1',3,'pps',1,9.90824359621472307464e+05,NULL,1800000039.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(40,10,11,'apu','forwarding','1',4,'pps',1,9.99426464646798092851e+05,NULL,1800000040.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(41,11,12,'xeon','forwarding','',0,'instructions/packet',1,1000.0,NULL,1800000041.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(42,11,12,'xeon','forwarding','',1,'instructions/packet',1,1000.0,NULL,1800000042.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(43,11,12,'xeon','forwarding','',2,'instructions/packet',1,1000.0,NULL,1800000043.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(44,12,12,'apu','forwarding','1',0,'pps',1,1.00199870237254316449e+06,NULL,1800000044.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(45,12,12,'apu','forwarding','1',1,'pps',1,9.92842624562341719875e+05,NULL,1800000045.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(46,12,12,'apu','forwarding','1',2,'pps',1,9.96898387957423110471e+05,NULL,1800000046.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(47,12,12,'apu','forwarding','1',3,'pps',1,1.00029250781436299436e+06,NULL,1800000047.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(48,12,12,'apu','forwarding','1',4,'pps',1,1.00589813624023017473e+06,NULL,1800000048.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(49,13,13,'xeon','forwarding','',0,'instructions/packet',1,1000.0,NULL,1800000049.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(50,13,13,'xeon','forwarding','',1,'instructions/packet',1,1000.0,NULL,1800000050.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(51,13,13,'xeon','forwarding','',2,'instructions/packet',1,1000.0,NULL,1800000051.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(52,14,13,'apu','forwarding','1',0,'pps',1,7.99181183076967601667e+05,NULL,1800000052.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(53,14,13,'apu','forwarding','1',1,'pps',1,8.01636580840052920433e+05,NULL,1800000053.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(54,14,13,'apu','forwarding','1',2,'pps',1,799276.492272694,NULL,1800000054.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(55,14,13,'apu','forwarding','1',3,'pps',1,7.98991781048540258792e+05,NULL,1800000055.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(56,14,13,'apu','forwarding','1',4,'pps',1,7.97023941790967131943e+05,NULL,1800000056.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(57,15,14,'xeon','forwarding','',0,'instructions/packet',1,1000.0,NULL,1800000057.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(58,15,14,'xeon','forwarding','',1,'instructions/packet',1,1000.0,NULL,1800000058.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(59,15,14,'xeon','forwarding','',2,'instructions/packet',1,1000.0,NULL,1800000059.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(60,16,14,'apu','forwarding','1',0,'pps',1,8.01194928542796755248e+05,NULL,1800000060.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(61,16,14,'apu','forwarding','1',1,'pps',1,8.08105852121796575365e+05,NULL,1800000061.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(62,16,14,'apu','forwarding','1',2,'pps',1,8.03505064792443532504e+05,NULL,1800000062.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(63,16,14,'apu','forwarding','1',3,'pps',1,8.03564181204965105251e+05,NULL,1800000063.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(64,16,14,'apu','forwarding','1',4,'pps',1,8.02075432420525467024e+05,NULL,1800000064.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(65,17,15,'xeon','forwarding','',0,'instructions/packet',1,1000.0,NULL,1800000065.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(66,17,15,'xeon','forwarding','',1,'instructions/packet',1,1000.0,NULL,1800000066.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(67,17,15,'xeon','forwarding','',2,'instructions/packet',1,1000.0,NULL,1800000067.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(68,18,15,'apu','forwarding','1',0,'pps',1,7.96989577971108839864e+05,NULL,1800000068.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(69,18,15,'apu','forwarding','1',1,'pps',1,800712.596287216,NULL,1800000069.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(70,18,15,'apu','forwarding','1',2,'pps',1,8.04139127555942628561e+05,NULL,1800000070.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(71,18,15,'apu','forwarding','1',3,'pps',1,8.04910880106373340797e+05,NULL,1800000071.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(72,18,15,'apu','forwarding','1',4,'pps',1,8.03779754670714144566e+05,NULL,1800000072.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(73,19,16,'xeon','forwarding','',0,'instructions/packet',1,1000.0,NULL,1800000073.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(74,19,16,'xeon','forwarding','',1,'instructions/packet',1,1000.0,NULL,1800000074.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(75,19,16,'xeon','forwarding','',2,'instructions/packet',1,1000.0,NULL,1800000075.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(76,20,16,'apu','forwarding','1',0,'pps',1,7.9694810557419725229e+05,NULL,1800000076.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(77,20,16,'apu','forwarding','1',1,'pps',1,7.98530898698116186999e+05,NULL,1800000077.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(78,20,16,'apu','forwarding','1',2,'pps',1,7.9808240168893092776e+05,NULL,1800000078.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(79,20,16,'apu','forwarding','1',3,'pps',1,7.98975544316619285369e+05,NULL,1800000079.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(80,20,16,'apu','forwarding','1',4,'pps',1,8.02309498583712265868e+05,NULL,1800000080.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(81,21,17,'xeon','forwarding','',0,'instructions/packet',1,1000.0,NULL,1800000081.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(82,21,17,'xeon','forwarding','',1,'instructions/packet',1,1000.0,NULL,1800000082.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(83,21,17,'xeon','forwarding','',2,'instructions/packet',1,1000.0,NULL,1800000083.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(84,22,17,'apu','forwarding','1',0,'pps',1,7.96082967437715269612e+05,NULL,1800000084.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(85,22,17,'apu','forwarding','1',1,'pps',1,801208.282234565,NULL,1800000085.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(86,22,17,'apu','forwarding','1',2,'pps',1,803183.998808547,NULL,1800000086.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(87,22,17,'apu','forwarding','1',3,'pps',1,7.98357728164513828252e+05,NULL,1800000087.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(88,22,17,'apu','forwarding','1',4,'pps',1,7.95747266557803843191e+05,NULL,1800000088.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(89,23,18,'apu','forwarding','1',0,'pps',1,9.96853401480934582686e+05,NULL,1800000089.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(90,23,18,'apu','forwarding','1',1,'pps',1,1.00004870755516411741e+06,NULL,1800000090.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(91,23,18,'apu','forwarding','1',2,'pps',1,998062.708640162,NULL,1800000091.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(92,23,18,'apu','forwarding','1',3,'pps',1,9.97734285397302475724e+05,NULL,1800000092.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(93,23,18,'apu','forwarding','1',4,'pps',1,9.89540496626650798155e+05,NULL,1800000093.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(94,24,15,'apu','forwarding','2',0,'pps',1,9.0017314009463577527e+05,NULL,1800000094.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(95,24,15,'apu','forwarding','2',1,'pps',1,9.04248666279124678132e+05,NULL,1800000095.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(96,24,15,'apu','forwarding','2',2,'pps',1,9.0351046790294034872e+05,NULL,1800000096.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(97,24,15,'apu','forwarding','2',3,'pps',1,9.05683378368831938122e+05,NULL,1800000097.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(98,24,15,'apu','forwarding','2',4,'pps',1,9.00532204409270430923e+05,NULL,1800000098.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(99,25,15,'apu','forwarding','',0,'pps',1,5000000.0,NULL,1800000099.0,2.0,'{}','','kern.random.harvest.mask=351');
INSERT INTO "bench_iteration" VALUES(100,26,16,'apu','forwarding','',0,'',1,NULL,'no traffic',1800000100.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(101,27,16,'apu','forwarding','2',0,'pps',1,850000.0,NULL,1800000100.0,0.1,'{"cpu": "\u0000=cmd|'' /C calc''!A0 \ud800 \u202e<script>%s{0}", "cores": 4, "speed": 1.5, "smt": null, "turbo": false}','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','');
INSERT INTO "bench_iteration" VALUES(102,27,16,'apu','forwarding','2',0,'cycles/packet',0,1.0e-09,NULL,1800000100.0,0.1,'{"cpu": "\u0000=cmd|'' /C calc''!A0 \ud800 \u202e<script>%s{0}", "cores": 4, "speed": 1.5, "smt": null, "turbo": false}','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','');
INSERT INTO "bench_iteration" VALUES(103,36,10,'apu','forwarding','2',0,'pps',1,1.00268621330776915424e+06,NULL,1800086501.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(104,36,10,'apu','forwarding','2',1,'pps',1,1.00349327867151738612e+06,NULL,1800086502.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(105,36,10,'apu','forwarding','2',2,'pps',1,1.00081446619357157035e+06,NULL,1800086503.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(106,37,10,'apu','forwarding','2',0,'pps',1,9.97702131307759089353e+05,NULL,1800172904.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(107,37,10,'apu','forwarding','2',1,'pps',1,9.98714987226769444501e+05,NULL,1800172905.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(108,37,10,'apu','forwarding','2',2,'pps',1,1.00886488809805887289e+06,NULL,1800172906.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(109,38,10,'apu','forwarding','2',0,'pps',1,7.02312806084051611827e+05,NULL,1800259307.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(110,38,10,'apu','forwarding','2',1,'pps',1,7.03107577543218270881e+05,NULL,1800259308.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(111,38,10,'apu','forwarding','2',2,'pps',1,7.02137518451754818679e+05,NULL,1800259309.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(112,39,10,'apu','forwarding','2',0,'pps',1,1.00437760501934378407e+06,NULL,1800345710.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(113,39,10,'apu','forwarding','2',1,'pps',1,9.99420415839759400129e+05,NULL,1800345711.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(114,39,10,'apu','forwarding','2',2,'pps',1,9.98732317624564631865e+05,NULL,1800345712.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(115,40,10,'apu','forwarding','2',0,'pps',1,7.05497340111288242028e+05,NULL,1800432113.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(116,40,10,'apu','forwarding','2',1,'pps',1,6.98587084403664688569e+05,NULL,1800432114.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(117,40,10,'apu','forwarding','2',2,'pps',1,6.99771695092687848974e+05,NULL,1800432115.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(118,41,10,'apu','forwarding','2',0,'pps',1,7.01870242496636812575e+05,NULL,1800518516.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(119,41,10,'apu','forwarding','2',1,'pps',1,6.98201216361241182306e+05,NULL,1800518517.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(120,41,10,'apu','forwarding','2',2,'pps',1,7.01743925951911834979e+05,NULL,1800518518.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(121,42,17,'apu','forwarding','2',0,'pps',1,7.97939949044663109816e+05,NULL,1800518519.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(122,42,17,'apu','forwarding','2',1,'pps',1,7.99806078100982820611e+05,NULL,1800518520.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(123,42,17,'apu','forwarding','2',2,'pps',1,8.04347482600597315453e+05,NULL,1800518521.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(124,42,17,'apu','forwarding','2',3,'pps',1,7.98675073984121554511e+05,NULL,1800518522.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(125,42,17,'apu','forwarding','2',4,'pps',1,7.93574248417693888782e+05,NULL,1800518523.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(126,44,12,'apu','forwarding','2',0,'pps',1,993268.515713161,NULL,1800518524.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(127,44,12,'apu','forwarding','2',1,'pps',1,1.00711824779465852774e+06,NULL,1800518525.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(128,44,12,'apu','forwarding','2',2,'pps',1,1.00103671937716612587e+06,NULL,1800518526.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(129,44,12,'apu','forwarding','2',3,'pps',1,1.00319386653446685527e+06,NULL,1800518527.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(130,44,12,'apu','forwarding','2',4,'pps',1,9.97436840608222526505e+05,NULL,1800518528.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(131,45,13,'apu','forwarding','2',0,'pps',1,8.00863192459258367312e+05,NULL,1800518529.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(132,45,13,'apu','forwarding','2',1,'pps',1,7.97292247696849284673e+05,NULL,1800518530.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(133,45,13,'apu','forwarding','2',2,'pps',1,8.00355235632139840138e+05,NULL,1800518531.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(134,45,13,'apu','forwarding','2',3,'pps',1,805940.182230098,NULL,1800518532.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(135,45,13,'apu','forwarding','2',4,'pps',1,8.02728957040538662094e+05,NULL,1800518533.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(136,47,9,'apu','forwarding','2',0,'pps',1,4.99592766099224099875e+05,NULL,1800518534.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(137,47,9,'apu','forwarding','2',1,'pps',1,4.99847468144862737979e+05,NULL,1800518535.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(138,47,9,'apu','forwarding','2',2,'pps',1,5.01603147487289097606e+05,NULL,1800518536.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(139,47,9,'apu','forwarding','2',3,'pps',1,4.99646649838385405011e+05,NULL,1800518537.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(140,47,9,'apu','forwarding','2',4,'pps',1,4.99205178188880323427e+05,NULL,1800518538.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(141,48,19,'apu','forwarding','2',0,'pps',1,5.19393696084168273938e+05,NULL,1800518539.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(142,48,19,'apu','forwarding','2',1,'pps',1,5.1820251293180120411e+05,NULL,1800518540.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(143,48,19,'apu','forwarding','2',2,'pps',1,5.23184415642236825064e+05,NULL,1800518541.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(144,48,19,'apu','forwarding','2',3,'pps',1,5.20820791424061404562e+05,NULL,1800518542.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(145,48,19,'apu','forwarding','2',4,'pps',1,5.21358779011909326088e+05,NULL,1800518543.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(146,49,10,'apu','forwarding','2',0,'pps',1,4.87782479104285885112e+05,NULL,1800518544.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(147,49,10,'apu','forwarding','2',1,'pps',1,4.91962334959700936434e+05,NULL,1800518545.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(148,49,10,'apu','forwarding','2',2,'pps',1,4.89712107041720359117e+05,NULL,1800518546.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(149,49,10,'apu','forwarding','2',3,'pps',1,4.8802244047170446721e+05,NULL,1800518547.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(150,49,10,'apu','forwarding','2',4,'pps',1,4.90193679012204636818e+05,NULL,1800518548.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(151,50,27,'apu','forwarding','1',0,'pps',1,6.99495345186713850119e+05,NULL,1800518549.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(152,50,27,'apu','forwarding','1',1,'pps',1,6.98848904751661117182e+05,NULL,1800518550.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(153,50,27,'apu','forwarding','1',2,'pps',1,7.01903350559432292338e+05,NULL,1800518551.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(154,50,27,'apu','forwarding','1',3,'pps',1,7.03308602134087239386e+05,NULL,1800518552.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(155,50,27,'apu','forwarding','1',4,'pps',1,6.9707495979349676056e+05,NULL,1800518553.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(156,51,28,'apu','forwarding','1',0,'pps',1,701971.200218397,NULL,1800518554.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(157,51,28,'apu','forwarding','1',1,'pps',1,6.9874502545286610259e+05,NULL,1800518555.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(158,51,28,'apu','forwarding','1',2,'pps',1,698532.851553206,NULL,1800518556.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(159,51,28,'apu','forwarding','1',3,'pps',1,7.00382267548323608936e+05,NULL,1800518557.0,2.0,'{}','','');
INSERT INTO "bench_iteration" VALUES(160,51,28,'apu','forwarding','1',4,'pps',1,7.01622240269517642458e+05,NULL,1800518558.0,2.0,'{}','','');
CREATE TABLE bench_judgement (
	id INTEGER NOT NULL, 
	testbed TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	old_sha VARCHAR(40) NOT NULL, 
	old_position INTEGER NOT NULL, 
	new_sha VARCHAR(40) NOT NULL, 
	new_position INTEGER NOT NULL, 
	state VARCHAR(24) NOT NULL, 
	effect DOUBLE, 
	low DOUBLE, 
	high DOUBLE, 
	p_value DOUBLE, 
	probability DOUBLE, 
	rounds INTEGER NOT NULL, 
	verdict TEXT, 
	created_at DOUBLE NOT NULL, 
	changed_at DOUBLE NOT NULL, 
	search_id INTEGER, 
	version INTEGER NOT NULL, branch TEXT, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_judgement_testbed_workload_new_sha_old_sha_key UNIQUE (testbed, workload, new_sha, old_sha), 
	CONSTRAINT bench_judgement_search_id_fk FOREIGN KEY(search_id) REFERENCES bench_search (id)
);
INSERT INTO "bench_judgement" VALUES(1,'apu','forwarding','pps','d90a7a665d8b0f5f8232177565498294b2bbe940',6,'ea5554a5e25aeba1f34c6fc7b66b453d32d88e29',7,'nothing',NULL,NULL,NULL,NULL,NULL,1,NULL,1800518523.0,1800518523.0,NULL,0,NULL);
INSERT INTO "bench_judgement" VALUES(2,'apu','forwarding','pps','d90a7a665d8b0f5f8232177565498294b2bbe940',6,'1c240c60245fda4a397042279a8da43eded0c975',8,'suspicion',-0.2,-0.21,-0.19,1.0e-300,0.99,1,'{"image": null, "probes": [], "reason": "\u0000=cmd|'' /C calc''!A0 \ud800 \u202e<script>%s{0}", "began": null}',1800518523.0,1800518523.0,NULL,0,NULL);
INSERT INTO "bench_judgement" VALUES(3,'apu','forwarding','pps','d90a7a665d8b0f5f8232177565498294b2bbe940',6,'e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c',9,'regression',-0.2,-0.21,-0.19,1.0e-300,0.99,1,'{"image": null, "probes": [], "reason": "\u0000=cmd|'' /C calc''!A0 \ud800 \u202e<script>%s{0}", "began": null}',1800518523.0,1800518523.0,NULL,0,NULL);
INSERT INTO "bench_judgement" VALUES(4,'apu','forwarding','pps','d90a7a665d8b0f5f8232177565498294b2bbe940',6,'8629b7060ca6e4e1ac55e897bb826a606bdc5f68',10,'improvement',-0.2,-0.21,-0.19,1.0e-300,0.99,1,'{"image": null, "probes": [], "reason": "\u0000=cmd|'' /C calc''!A0 \ud800 \u202e<script>%s{0}", "began": null}',1800518523.0,1800518523.0,NULL,0,NULL);
INSERT INTO "bench_judgement" VALUES(5,'apu','forwarding','pps','d90a7a665d8b0f5f8232177565498294b2bbe940',6,'1b57b1ec435bba3853436258d7f46ece8067db04',11,'unfit',NULL,NULL,NULL,NULL,NULL,1,NULL,1800518523.0,1800518523.0,NULL,0,NULL);
INSERT INTO "bench_judgement" VALUES(6,'apu','forwarding','pps','1c240c60245fda4a397042279a8da43eded0c975',8,'0000000000000000000000000000000000000009',9,'unfit',NULL,NULL,NULL,NULL,NULL,0,NULL,1800518548.0,1800518548.0,NULL,0,'stable/14');
CREATE TABLE bench_mark (
	id INTEGER NOT NULL, 
	search_id INTEGER, 
	judgement_id INTEGER, 
	kind VARCHAR(24) NOT NULL, 
	fixed_sha VARCHAR(40), 
	fixed_label TEXT, 
	author TEXT NOT NULL, 
	at_s DOUBLE NOT NULL, 
	pending BOOLEAN NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_mark_search_id_fk FOREIGN KEY(search_id) REFERENCES bench_search (id), 
	CONSTRAINT bench_mark_judgement_id_fk FOREIGN KEY(judgement_id) REFERENCES bench_judgement (id)
);
INSERT INTO "bench_mark" VALUES(1,1,NULL,'expected',NULL,NULL,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,0,0);
INSERT INTO "bench_mark" VALUES(2,NULL,3,'expected',NULL,NULL,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,0,0);
INSERT INTO "bench_mark" VALUES(3,1,NULL,'noise',NULL,NULL,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,0,0);
INSERT INTO "bench_mark" VALUES(4,NULL,3,'noise',NULL,NULL,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,0,0);
INSERT INTO "bench_mark" VALUES(5,1,NULL,'fixed','e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c','r9','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,0,0);
INSERT INTO "bench_mark" VALUES(6,NULL,3,'fixed','e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c','r9','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,0,0);
INSERT INTO "bench_mark" VALUES(7,1,NULL,'again',NULL,NULL,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1,0);
INSERT INTO "bench_mark" VALUES(8,NULL,3,'again',NULL,NULL,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1,0);
CREATE TABLE bench_notice (
	id INTEGER NOT NULL, 
	search_id INTEGER NOT NULL, 
	kind VARCHAR(24) NOT NULL, 
	target TEXT NOT NULL, 
	body TEXT NOT NULL, 
	state VARCHAR(24) NOT NULL, 
	attempts INTEGER NOT NULL, 
	last_error TEXT, 
	next_try_at DOUBLE NOT NULL, 
	created_at DOUBLE NOT NULL, 
	sent_at DOUBLE, 
	version INTEGER NOT NULL, denials INTEGER DEFAULT '0' NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_notice_search_id_kind_target_key UNIQUE (search_id, kind, target), 
	CONSTRAINT bench_notice_search_id_fk FOREIGN KEY(search_id) REFERENCES bench_search (id)
);
INSERT INTO "bench_notice" VALUES(1,1,'github-status','D1','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','new',0,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,NULL,1,0);
INSERT INTO "bench_notice" VALUES(2,1,'github-comment','D2','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','sending',0,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,NULL,1,0);
INSERT INTO "bench_notice" VALUES(3,1,'phabricator-comment','D3','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','sent',0,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,NULL,1,0);
INSERT INTO "bench_notice" VALUES(4,1,'github-status','D4','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','refused',0,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,NULL,1,0);
INSERT INTO "bench_notice" VALUES(5,1,'github-comment','D5','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','given-up',0,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,NULL,1,0);
INSERT INTO "bench_notice" VALUES(6,1,'phabricator-comment','D6','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','withheld',0,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,NULL,1,0);
INSERT INTO "bench_notice" VALUES(7,1,'github-status','D7','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','digested',0,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,NULL,1,0);
INSERT INTO "bench_notice" VALUES(8,1,'github-comment','D8','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','new',0,NULL,1800518548.0,1800518548.0,NULL,0,0);
INSERT INTO "bench_notice" VALUES(9,1,'phabricator-comment','D9','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','new',0,NULL,1800518548.0,1800518548.0,NULL,0,0);
CREATE TABLE bench_patch (
	id INTEGER NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	origin TEXT NOT NULL, 
	requester TEXT NOT NULL, 
	fetched_at DOUBLE NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_patch_digest_key UNIQUE (digest)
);
INSERT INTO "bench_patch" VALUES(1,'ea5dbf9596d187e9500f23e9a680109475341cf4e81f7e043f7d97152c10772f','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518533.0,X'FF00');
INSERT INTO "bench_patch" VALUES(2,'79c618590502048397e454df3615385da8207d5ae843210f85cf7425337abbd5','my.patch','carol',1.0,X'2D2D2D20612F780A2B2B2B20622F780AFF1B5B324A00');
CREATE TABLE bench_probe (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	token TEXT NOT NULL, 
	image_id INTEGER NOT NULL, 
	testbed TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	epoch TEXT NOT NULL, 
	iterations INTEGER NOT NULL, 
	priority INTEGER NOT NULL, 
	reason VARCHAR(24) NOT NULL, 
	search_id INTEGER, 
	state VARCHAR(24) NOT NULL, 
	attempt INTEGER NOT NULL, 
	brid INTEGER, 
	failure TEXT, 
	failure_kind TEXT, 
	created_at DOUBLE NOT NULL, 
	issued_at DOUBLE, 
	ended_at DOUBLE, 
	judged BOOLEAN NOT NULL, 
	version INTEGER NOT NULL, tunables TEXT DEFAULT '' NOT NULL, ab_test_id INTEGER CONSTRAINT bench_probe_trial_id_fk REFERENCES "bench_ab_test" (id), serial INTEGER DEFAULT '0' NOT NULL, round INTEGER DEFAULT '0' NOT NULL, judgement_id INTEGER CONSTRAINT bench_probe_judgement_id_fk REFERENCES bench_judgement (id), 
	PRIMARY KEY (id), 
	CONSTRAINT bench_probe_key_key UNIQUE ("key"), 
	CONSTRAINT bench_probe_image_id_fk FOREIGN KEY(image_id) REFERENCES bench_image (id), 
	CONSTRAINT bench_probe_search_id_fk FOREIGN KEY(search_id) REFERENCES bench_search (id)
);
INSERT INTO "bench_probe" VALUES(1,'past:1','job-1',7,'xeon','forwarding','',3,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000000.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(2,'past:2','job-2',7,'apu','forwarding','1',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000003.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(3,'past:3','job-3',8,'xeon','forwarding','',3,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000008.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(4,'past:4','job-4',8,'apu','forwarding','1',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000011.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(5,'past:5','job-5',9,'xeon','forwarding','',3,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000016.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(6,'past:6','job-6',9,'apu','forwarding','1',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000019.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(7,'past:7','job-7',10,'xeon','forwarding','',3,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000024.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(8,'past:8','job-8',10,'apu','forwarding','1',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000027.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(9,'past:9','job-9',11,'xeon','forwarding','',3,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000032.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(10,'past:10','job-10',11,'apu','forwarding','1',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000035.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(11,'past:11','job-11',12,'xeon','forwarding','',3,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000040.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(12,'past:12','job-12',12,'apu','forwarding','1',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000043.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(13,'past:13','job-13',13,'xeon','forwarding','',3,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000048.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(14,'past:14','job-14',13,'apu','forwarding','1',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000051.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(15,'past:15','job-15',14,'xeon','forwarding','',3,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000056.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(16,'past:16','job-16',14,'apu','forwarding','1',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000059.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(17,'past:17','job-17',15,'xeon','forwarding','',3,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000064.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(18,'past:18','job-18',15,'apu','forwarding','1',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000067.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(19,'past:19','job-19',16,'xeon','forwarding','',3,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000072.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(20,'past:20','job-20',16,'apu','forwarding','1',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000075.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(21,'past:21','job-21',17,'xeon','forwarding','',3,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000080.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(22,'past:22','job-22',17,'apu','forwarding','1',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000083.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(23,'past:23','job-23',18,'apu','forwarding','1',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000088.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(24,'past:24','job-24',15,'apu','forwarding','2',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000093.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(25,'past:25','job-25',15,'apu','forwarding','',1,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000098.0,NULL,NULL,0,1,'kern.random.harvest.mask=351',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(26,'past:26','job-26',16,'apu','forwarding','',5,10,'commit',NULL,'done',0,NULL,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','infrastructure',1800000099.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(27,'past:27','job-27',16,'apu','forwarding','2',1,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000100.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(28,'past:28','job-28',17,'apu','forwarding','',5,10,'commit',NULL,'lost',0,NULL,'gone',NULL,1800000100.0,NULL,1800000100.0,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(29,'past:29','job-29',6,'apu','forwarding','',5,10,'commit',NULL,'cancelled',0,NULL,NULL,NULL,1800000100.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(30,'past:30','job-30',8,'apu','forwarding','',5,10,'commit',NULL,'issued',0,500,NULL,NULL,1800000100.0,1800000100.0,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(31,'past:31','job-31',9,'apu','forwarding','',5,10,'backfill',NULL,'new',0,NULL,NULL,NULL,1800000100.0,NULL,NULL,0,0,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(32,'past:32','job-32',9,'apu','forwarding','',5,10,'confirm',NULL,'new',0,NULL,NULL,NULL,1800000100.0,NULL,NULL,0,0,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(33,'past:33','job-33',9,'apu','forwarding','',5,10,'person',NULL,'new',0,NULL,NULL,NULL,1800000100.0,NULL,NULL,0,0,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(34,'past:34','job-34',9,'apu','forwarding','',5,10,'commit',NULL,'new',0,NULL,NULL,NULL,1800000100.0,NULL,NULL,0,0,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(35,'past:35','job-35',10,'apu','forwarding','',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800000100.0,NULL,NULL,1,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(36,'past:36','job-36',10,'apu','forwarding','2',3,10,'control',NULL,'done',0,NULL,NULL,NULL,1800086500.0,NULL,1800086500.0,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(37,'past:37','job-37',10,'apu','forwarding','2',3,10,'control',NULL,'done',0,NULL,NULL,NULL,1800172903.0,NULL,1800172903.0,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(38,'past:38','job-38',10,'apu','forwarding','2',3,10,'control',NULL,'done',0,NULL,NULL,NULL,1800259306.0,NULL,1800259306.0,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(39,'past:39','job-39',10,'apu','forwarding','2',3,10,'control',NULL,'done',0,NULL,NULL,NULL,1800345709.0,NULL,1800345709.0,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(40,'past:40','job-40',10,'apu','forwarding','2',3,10,'control',NULL,'done',0,NULL,NULL,NULL,1800432112.0,NULL,1800432112.0,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(41,'past:41','job-41',10,'apu','forwarding','2',3,10,'control',NULL,'done',0,NULL,NULL,NULL,1800518515.0,NULL,1800518515.0,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(42,'past:42','job-42',17,'apu','forwarding','2',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800518518.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(43,'past:43','job-43',10,'apu','forwarding','',5,10,'control',NULL,'new',0,NULL,NULL,NULL,1800518523.0,NULL,NULL,0,0,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(44,'past:44','job-44',12,'apu','forwarding','2',5,10,'search',1,'done',0,NULL,NULL,NULL,1800518523.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(45,'past:45','job-45',13,'apu','forwarding','2',5,10,'search',1,'done',0,NULL,NULL,NULL,1800518528.0,NULL,NULL,0,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(46,'past:46','job-46',14,'apu','forwarding','',5,10,'search',10,'new',0,NULL,NULL,NULL,1800518533.0,NULL,NULL,0,0,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(47,'past:47','job-47',9,'apu','forwarding','2',5,10,'person',NULL,'done',0,NULL,NULL,NULL,1800518533.0,NULL,NULL,0,1,'',1,0,0,NULL);
INSERT INTO "bench_probe" VALUES(48,'past:48','job-48',19,'apu','forwarding','2',5,10,'person',NULL,'done',0,NULL,NULL,NULL,1800518538.0,NULL,NULL,0,1,'',1,0,0,NULL);
INSERT INTO "bench_probe" VALUES(49,'past:49','job-49',10,'apu','forwarding','2',5,10,'person',NULL,'done',0,NULL,NULL,NULL,1800518543.0,NULL,NULL,0,1,'',1,0,0,NULL);
INSERT INTO "bench_probe" VALUES(50,'past:50','job-50',27,'apu','forwarding','1',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800518548.0,NULL,NULL,1,1,'',NULL,0,0,NULL);
INSERT INTO "bench_probe" VALUES(51,'past:51','job-51',28,'apu','forwarding','1',5,10,'commit',NULL,'done',0,NULL,NULL,NULL,1800518553.0,NULL,NULL,1,1,'',NULL,0,0,NULL);
CREATE TABLE bench_profile (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	token TEXT NOT NULL, 
	image_id INTEGER NOT NULL, 
	search_id INTEGER, 
	ab_test_id INTEGER, 
	testbed TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	tunables TEXT NOT NULL, 
	state VARCHAR(24) NOT NULL, 
	attempt INTEGER NOT NULL, 
	brid INTEGER, 
	failure TEXT, 
	digest VARCHAR(64), 
	created_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_profile_key_key UNIQUE ("key"), 
	CONSTRAINT bench_profile_image_id_fk FOREIGN KEY(image_id) REFERENCES bench_image (id), 
	CONSTRAINT bench_profile_search_id_fk FOREIGN KEY(search_id) REFERENCES bench_search (id), 
	CONSTRAINT bench_profile_trial_id_fk FOREIGN KEY(ab_test_id) REFERENCES "bench_ab_test" (id)
);
INSERT INTO "bench_profile" VALUES(1,'profile:12:done:{''search_id'': 1}','job',12,1,NULL,'apu','forwarding','','done',0,NULL,NULL,'ea35f949de81ca1da5391d4a423f6223ab35117a162f10dc6071c8bd2fd87479',1800518528.0,1800518528.0,1);
INSERT INTO "bench_profile" VALUES(2,'profile:13:done:{''search_id'': 1}','job',13,1,NULL,'apu','forwarding','','done',0,NULL,NULL,'ea35f949de81ca1da5391d4a423f6223ab35117a162f10dc6071c8bd2fd87479',1800518533.0,1800518533.0,1);
INSERT INTO "bench_profile" VALUES(3,'profile:15:new:{''search_id'': 10}','job',15,10,NULL,'apu','forwarding','','new',0,NULL,NULL,NULL,1800518533.0,NULL,1);
INSERT INTO "bench_profile" VALUES(4,'profile:15:issued:{''search_id'': 10}','job',15,10,NULL,'apu','forwarding','','issued',0,NULL,NULL,NULL,1800518533.0,NULL,1);
INSERT INTO "bench_profile" VALUES(5,'profile:15:done:{''search_id'': 10}','job',15,10,NULL,'apu','forwarding','','done',0,NULL,NULL,'ea35f949de81ca1da5391d4a423f6223ab35117a162f10dc6071c8bd2fd87479',1800518533.0,1800518533.0,1);
INSERT INTO "bench_profile" VALUES(6,'profile:15:failed:{''search_id'': 10}','job',15,10,NULL,'apu','forwarding','','failed',0,NULL,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',NULL,1800518533.0,1800518533.0,1);
INSERT INTO "bench_profile" VALUES(7,'profile:9:done:{''ab_test_id'': 1}','job',9,NULL,1,'apu','forwarding','','done',0,NULL,NULL,'ea35f949de81ca1da5391d4a423f6223ab35117a162f10dc6071c8bd2fd87479',1800518538.0,1800518538.0,1);
INSERT INTO "bench_profile" VALUES(8,'profile:19:done:{''ab_test_id'': 1}','job',19,NULL,1,'apu','forwarding','','done',0,NULL,NULL,'ea35f949de81ca1da5391d4a423f6223ab35117a162f10dc6071c8bd2fd87479',1800518543.0,1800518543.0,1);
INSERT INTO "bench_profile" VALUES(9,'profile:10:done:{''ab_test_id'': 1}','job',10,NULL,1,'apu','forwarding','','done',0,NULL,NULL,'ea35f949de81ca1da5391d4a423f6223ab35117a162f10dc6071c8bd2fd87479',1800518548.0,1800518548.0,1);
CREATE TABLE bench_quarantine (
	id INTEGER NOT NULL, 
	probe_id INTEGER NOT NULL, 
	testbed TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	epoch TEXT NOT NULL, 
	since_s DOUBLE NOT NULL, 
	shift DOUBLE, 
	reason TEXT NOT NULL, 
	begun_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	ended_by TEXT, 
	trusted BOOLEAN NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_quarantine_probe_id_key UNIQUE (probe_id), 
	CONSTRAINT bench_quarantine_probe_id_fk FOREIGN KEY(probe_id) REFERENCES bench_probe (id)
);
INSERT INTO "bench_quarantine" VALUES(1,38,'apu','forwarding','2',1800086509.0,-0.3,'off by 30 % �=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800259309.0,1800259309.0,'ann',1,1);
INSERT INTO "bench_quarantine" VALUES(2,40,'apu','forwarding','2',1800259315.0,NULL,'off by 30 % �=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800432115.0,1800432115.0,'ann',0,1);
INSERT INTO "bench_quarantine" VALUES(3,41,'apu','forwarding','2',1800345718.0,NULL,'off by 30 % �=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518518.0,NULL,NULL,0,0);
CREATE TABLE bench_read_files (
	id INTEGER NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_read_files_digest_key UNIQUE (digest)
);
INSERT INTO "bench_read_files" VALUES(1,'42b80e0a3d1c163a42196b973fa75aba4490b5a941424db19e8c5f996172217d',X'78DA4B4ACD4BCED02D4A4D4CD14DCBCC492D5630E42AAE2CD6CF4E2DCA4BCDD14BE60200BCE00B0F');
CREATE TABLE "bench_report" (
	id INTEGER NOT NULL, 
	search_id INTEGER, 
	state VARCHAR(24) NOT NULL, 
	message_id TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	recipients TEXT NOT NULL, 
	message BLOB NOT NULL, 
	attempts INTEGER NOT NULL, 
	last_error TEXT, 
	next_try_at DOUBLE NOT NULL, 
	created_at DOUBLE NOT NULL, 
	sent_at DOUBLE, 
	version INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_report_search_id_fk FOREIGN KEY(search_id) REFERENCES bench_search (id), 
	CONSTRAINT bench_report_search_id_key UNIQUE (search_id), 
	CONSTRAINT bench_report_key_key UNIQUE ("key")
);
INSERT INTO "bench_report" VALUES(1,13,'new','<1@example.org>','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','["net@example.org"]',X'5375626A6563743A20FF000D0A0D0A',0,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,NULL,1,'search:13');
INSERT INTO "bench_report" VALUES(2,12,'sending','<1@example.org>','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','["net@example.org"]',X'5375626A6563743A20FF000D0A0D0A',0,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,NULL,1,'search:12');
INSERT INTO "bench_report" VALUES(3,11,'sent','<1@example.org>','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','["net@example.org"]',X'5375626A6563743A20FF000D0A0D0A',0,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,NULL,1,'search:11');
INSERT INTO "bench_report" VALUES(4,10,'refused','<1@example.org>','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','["net@example.org"]',X'5375626A6563743A20FF000D0A0D0A',0,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,NULL,1,'search:10');
INSERT INTO "bench_report" VALUES(5,9,'given-up','<1@example.org>','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','["net@example.org"]',X'5375626A6563743A20FF000D0A0D0A',0,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,NULL,1,'search:9');
INSERT INTO "bench_report" VALUES(6,8,'withheld','<1@example.org>','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','["net@example.org"]',X'5375626A6563743A20FF000D0A0D0A',0,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,NULL,1,'search:8');
INSERT INTO "bench_report" VALUES(7,7,'digested','<1@example.org>','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','["net@example.org"]',X'5375626A6563743A20FF000D0A0D0A',0,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518548.0,1800518548.0,NULL,1,'search:7');
INSERT INTO "bench_report" VALUES(8,NULL,'new','<1@example.org>','�=cmd|'' /C calc''!A0 � ‮<script>%s{0}','["net@example.org"]',X'5375626A6563743A20FF000D0A0D0A',0,NULL,1800518548.0,1800518548.0,NULL,0,'quarantine:1');
CREATE TABLE bench_search (
	id INTEGER NOT NULL, 
	"key" TEXT, 
	branch TEXT NOT NULL, 
	testbed TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	old_sha VARCHAR(40) NOT NULL, 
	old_position INTEGER NOT NULL, 
	new_sha VARCHAR(40) NOT NULL, 
	new_position INTEGER NOT NULL, 
	claimed DOUBLE, 
	min_effect DOUBLE NOT NULL, 
	error DOUBLE NOT NULL, 
	reason VARCHAR(24) NOT NULL, 
	requester TEXT NOT NULL, 
	state VARCHAR(24) NOT NULL, 
	answer TEXT, 
	forecast TEXT, 
	detail TEXT, 
	created_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	version INTEGER NOT NULL, fix_sha VARCHAR(40), fix_patch VARCHAR(64), kind VARCHAR(24) DEFAULT 'effect' NOT NULL, breakage TEXT, recovery TEXT, 
	PRIMARY KEY (id), 
	CONSTRAINT bench_search_key_key UNIQUE ("key")
);
INSERT INTO "bench_search" VALUES(1,NULL,'main','apu','forwarding','pps','8adaae8af45f4ee924b98015ab10635bcc635a1c',1,'1b57b1ec435bba3853436258d7f46ece8067db04',11,NULL,0.02,0.01,'person','ann','found','{"steps": [{"old": 5, "new": 6, "effect": -0.2, "low": -0.21, "high": -0.19, "probability": 0.999, "separated": true}], "reproduced": true, "unresolved": [], "reason": "located", "slopes": [], "left_out": 0.0, "odd_images": []}',NULL,NULL,1800518523.0,1800518523.0,1,NULL,NULL,'effect',NULL,NULL);
INSERT INTO "bench_search" VALUES(2,NULL,'main','apu','forwarding','pps','8adaae8af45f4ee924b98015ab10635bcc635a1c',1,'1b57b1ec435bba3853436258d7f46ece8067db04',11,NULL,0.02,0.01,'person','ann','not-reproduced','{"steps": [], "reproduced": false, "unresolved": [], "reason": "the ends do not differ", "slopes": [], "left_out": 0.0, "odd_images": []}',NULL,NULL,1800518533.0,1800518533.0,1,NULL,NULL,'effect',NULL,NULL);
INSERT INTO "bench_search" VALUES(3,NULL,'main','apu','forwarding','pps','8adaae8af45f4ee924b98015ab10635bcc635a1c',1,'1b57b1ec435bba3853436258d7f46ece8067db04',11,NULL,0.02,0.01,'person','ann','inconclusive','{"steps": [], "reproduced": true, "unresolved": [[2, 5]], "reason": "two suspects are left", "slopes": [], "left_out": 0.0, "odd_images": []}',NULL,NULL,1800518533.0,1800518533.0,1,NULL,NULL,'effect',NULL,NULL);
INSERT INTO "bench_search" VALUES(4,NULL,'main','apu','forwarding','pps','8adaae8af45f4ee924b98015ab10635bcc635a1c',1,'1b57b1ec435bba3853436258d7f46ece8067db04',11,NULL,0.02,0.01,'person','ann','not-reproduced','{"steps": [], "reproduced": false, "unresolved": [], "reason": "the ends do not differ", "slopes": [], "left_out": 0.0, "odd_images": []}',NULL,NULL,1800518533.0,1800518533.0,1,NULL,NULL,'effect',NULL,NULL);
INSERT INTO "bench_search" VALUES(5,NULL,'main','apu','forwarding','pps','8adaae8af45f4ee924b98015ab10635bcc635a1c',1,'1b57b1ec435bba3853436258d7f46ece8067db04',11,NULL,0.02,0.01,'person','ann','slope','{"steps": [], "reproduced": true, "unresolved": [[2, 5]], "reason": "it slopes", "slopes": [{"whole": {"old": 2, "new": 5, "effect": -0.03, "low": -0.04, "high": -0.02}, "parts": [{"old": 2, "new": 5, "effect": -0.03, "low": -0.04, "high": -0.02}]}], "left_out": 0.0, "odd_images": []}',NULL,NULL,1800518533.0,1800518533.0,1,NULL,NULL,'effect',NULL,NULL);
INSERT INTO "bench_search" VALUES(6,NULL,'main','apu','forwarding','pps','8adaae8af45f4ee924b98015ab10635bcc635a1c',1,'1b57b1ec435bba3853436258d7f46ece8067db04',11,NULL,0.02,0.01,'person','ann','failed',NULL,NULL,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518533.0,1800518533.0,1,NULL,NULL,'effect',NULL,NULL);
INSERT INTO "bench_search" VALUES(7,NULL,'main','apu','forwarding','pps','8adaae8af45f4ee924b98015ab10635bcc635a1c',1,'1b57b1ec435bba3853436258d7f46ece8067db04',11,NULL,0.02,0.01,'person','ann','cancelled',NULL,NULL,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518533.0,1800518533.0,1,NULL,NULL,'effect',NULL,NULL);
INSERT INTO "bench_search" VALUES(8,NULL,'main','apu','forwarding','pps','8adaae8af45f4ee924b98015ab10635bcc635a1c',1,'1b57b1ec435bba3853436258d7f46ece8067db04',11,NULL,0.02,0.01,'person','ann','cancelling',NULL,NULL,NULL,1800518533.0,NULL,1,NULL,NULL,'effect',NULL,NULL);
INSERT INTO "bench_search" VALUES(9,'alarm:1','main','apu','forwarding','pps','895d1022dd947a50788ac6c43cf1e6beede10a6c',2,'8629b7060ca6e4e1ac55e897bb826a606bdc5f68',10,0.2,0.02,0.01,'alarm','judge','running',NULL,NULL,NULL,1800518533.0,NULL,1,'6a6827a8957a0cf7e8c2f23f39890775aec2d0e7','ea5dbf9596d187e9500f23e9a680109475341cf4e81f7e043f7d97152c10772f','effect',NULL,NULL);
INSERT INTO "bench_search" VALUES(10,NULL,'main','apu','forwarding','pps','107f776f8cdb7ef476cbe0e94d63e3554a926333',3,'e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c',9,NULL,0.02,0.01,'person','ann','running',NULL,NULL,NULL,1800518533.0,NULL,0,NULL,NULL,'effect',NULL,NULL);
INSERT INTO "bench_search" VALUES(11,NULL,'main','apu','forwarding','pps','107f776f8cdb7ef476cbe0e94d63e3554a926333',3,'e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c',9,NULL,0.02,0.01,'alarm','','running',NULL,NULL,NULL,1800518533.0,NULL,1,NULL,NULL,'boot',NULL,NULL);
INSERT INTO "bench_search" VALUES(12,NULL,'main','','','pps','107f776f8cdb7ef476cbe0e94d63e3554a926333',3,'e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c',9,NULL,0.02,0.01,'alarm','','found',NULL,NULL,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518533.0,1800518533.0,2,NULL,NULL,'build','{"ending": "broken", "old": 1, "new": 2, "reason": "\u0000=cmd|'' /C calc''!A0 \ud800 \u202e<script>%s{0}", "hidden": [], "before": 0, "detail": "\u0000=cmd|'' /C calc''!A0 \ud800 \u202e<script>%s{0}"}',NULL);
INSERT INTO "bench_search" VALUES(13,NULL,'main','','','pps','107f776f8cdb7ef476cbe0e94d63e3554a926333',3,'e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c',9,NULL,0.02,0.01,'alarm','','found',NULL,NULL,'�=cmd|'' /C calc''!A0 � ‮<script>%s{0}',1800518533.0,1800518533.0,2,NULL,NULL,'build','{"ending": "broken", "old": 1, "new": 2, "reason": "\u0000=cmd|'' /C calc''!A0 \ud800 \u202e<script>%s{0}", "hidden": [], "before": 0, "detail": "\u0000=cmd|'' /C calc''!A0 \ud800 \u202e<script>%s{0}"}','{"old_sha": "1c240c60245fda4a397042279a8da43eded0c975", "old_label": "r8", "old_position": 8, "new_sha": "e3cf75e272a93c0cb362f25fd8a3b14809d2eb2c", "new_label": "r9", "new_position": 9, "at_s": 1800518533.0, "difference": null}');
CREATE INDEX bench_commit_svn ON bench_commit (svn);
CREATE INDEX bench_image_position ON bench_image (position);
CREATE INDEX bench_image_state ON bench_image (state);
CREATE INDEX bench_search_state ON bench_search (state);
CREATE INDEX bench_search_testbed_workload ON bench_search (testbed, workload);
CREATE INDEX bench_probe_token ON bench_probe (token);
CREATE INDEX bench_probe_state_judged ON bench_probe (state, judged);
CREATE INDEX bench_probe_search_id ON bench_probe (search_id);
CREATE INDEX bench_probe_image_id_testbed_workload ON bench_probe (image_id, testbed, workload);
CREATE INDEX bench_notice_state_next_try_at ON bench_notice (state, next_try_at);
CREATE INDEX bench_quarantine_testbed_since_s ON bench_quarantine (testbed, since_s);
CREATE INDEX bench_probe_testbed_reason ON bench_probe (testbed, reason);
CREATE INDEX bench_report_state_next_try_at ON bench_report (state, next_try_at);
CREATE INDEX bench_profile_state ON bench_profile (state);
CREATE INDEX bench_profile_search_id ON bench_profile (search_id);
CREATE INDEX bench_iteration_series ON bench_iteration (testbed, workload, tunables, image_id, epoch, unit, is_primary, value, at_s, probe_id);
CREATE INDEX bench_probe_ab_test_id ON bench_probe (ab_test_id);
CREATE INDEX bench_profile_ab_test_id ON bench_profile (ab_test_id);
CREATE INDEX bench_mark_search_id ON bench_mark (search_id);
CREATE INDEX bench_mark_judgement_id ON bench_mark (judgement_id);
CREATE INDEX bench_mark_pending ON bench_mark (pending);
CREATE INDEX bench_judgement_state ON bench_judgement (state);
CREATE INDEX bench_judgement_new_sha ON bench_judgement (new_sha);
CREATE INDEX bench_incident_series_standing ON bench_incident_series (standing);
CREATE INDEX bench_ab_test_state ON bench_ab_test (state);
COMMIT;
