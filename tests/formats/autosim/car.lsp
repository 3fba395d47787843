; A passenger car in a turn, after section 9.1 of Sayers' thesis: data in in, lbf, lbm, deg, s.
(reset)
(in-lb)
(add-body nrb :name "axles and tires" :translate (1 2) :parent-rotation-axis 3
          :cm-coordinates #(0 0 !"-hra"))
(add-body rb :name "sprung mass" :parent nrb
          :parent-rotation-axis #(!"cos(thetar)" 0 !"sin(thetar)") :body-rotation-axes 1
          :joint-coordinates #(0 0 !"-hra") :cm-coordinates #(ce 0 !"-h")
          :inertia-matrix #2a((ixx 0 ixz) (0 iyy 0) (ixz 0 izzr)))
(add-constraint !"dot(vel(nrb0), [nrb1]) - speed")      ; the forward speed is kept
(add-point front :body nrb :coordinates #(l 0 0))
(setf roll !"angle([nrb2], [rb2], [rb1])")
(setf slip-f !"angle([nrb1], vel(front), [nrb3]) - steer")
(setf slip-r !"angle([nrb1], vel(nrb0), [nrb3]) - krs2*#roll")
(add-gravity)
(add-line-force fy1 :name "front side force" :point1 front :direction [nrb2]
                :magnitude !"ca1*#slip-f + cg1*ccoef1*#roll")
(add-line-force fy2 :name "rear side force" :point1 nrb0 :direction [nrb2]
                :magnitude !"ca2*#slip-r")
(add-moment mz1 :name "front aligning moment" :body1 nrb :magnitude !"cam1*#slip-f")
(add-moment mz2 :name "rear aligning moment" :body1 nrb :magnitude !"cam2*#slip-r")
(add-moment rollm :body1 rb :body2 nrb :direction [rb1]
            :magnitude !"-kroll*#roll - croll*dot([nrb1], rot(rb) - rot(nrb))")
(set-units ca1 !"f/a" ca2 !"f/a" cam1 !"l*f/a" cam2 !"l*f/a" cg1 !"f/a" ccoef1 1 krs2 1
           kroll !"l*f/a" croll !"t*l*f/a" thetar a steer a speed !"l/t")
(set-defaults ca1 -444 ca2 -428 cam1 1080 cam2 1000 cg1 78 ccoef1 .82 krs2 -.016 l 125.5
              ce 63.4 h 15.48 ixx 5580 iyy 12000 izzr 37080 ixz 0 kroll 6211 croll 212
              nrbm 704 rbm 3831 speed 968 steer 1 thetar 5.1 step .025 iprint 2 stopt 2
              izznr 1285)
(add-out !"dot(dir(dplane([rb2], [n3])), dxdt(vel(rbcm)))" "Ay" :units !"l/t**2" :body rb)
(add-out !"dot(rot(nrb), [n3])" "r" :long-name "yaw rate" :units !"a/t" :body nrb)
(add-forces-to-output)
(add-moments-to-output)
(dynamics)
(write-sim)
